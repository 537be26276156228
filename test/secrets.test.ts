import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, type TestUser, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const CARRIED = `flpat-${"canary".repeat(5)}`;
const KEY = `flak-${"canary".repeat(5)}`;
const DIGEST = "canary-digest-of-a-password";

/** The responses, the log and the audit log of all operations are searched in the sweep. */
describe("secrets are not logged", () => {
  let app: TestApp;
  let user: TestUser;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    user = await app.makeUser({ password_digest: DIGEST });
  });
  after(() => app.close());

  test("wherever a request carries them", async () => {
    await app.get(`/users?private_token=${CARRIED}`);
    await app.get(`/users?access_token=${CARRIED}&${CARRIED}=1`);
    await app.get(`/users/${CARRIED}`, { headers: { authorization: `Bearer ${CARRIED}` } });
    await app.get(`/personal_access_tokens/${CARRIED}`, { token: CARRIED, headers: { sudo: CARRIED } });
    await app.post("/users", { payload: { private_token: CARRIED, password: CARRIED } });
    await app.get(`/nowhere/${CARRIED}?x=${CARRIED}`, { headers: { authorization: `Basic ${btoa(`x:${CARRIED}`)}` } });
    await app.post(`/g/p/alerts/notify/x/${KEY}.json?${KEY}`, { headers: { authorization: `Bearer ${KEY}` } });
    assert.ok(app.logged.length >= 7);
    const text = app.logged.join("");
    assert.ok(!text.includes("canarycanary"));
    assert.doesNotMatch(text, /fl(?:pat|ak)-[\w-]{20,}/);
  });

  test("with the row of a statement that failed", async () => {
    const before = app.logged.length;
    await sql`alter table users add constraint made_by_test check (bio <> 'break') not valid`.execute(
      app.services.db.write,
    );
    const { token } = await app.makeUser({ admin: true });
    const { status, text } = await app.put(`/users/${user.id}`, { token, payload: { bio: "break" } });
    assert.equal(status, 500);
    assert.equal(text, '{"message":"500 Internal Server Error"}');
    const logged = app.logged.slice(before).join("");
    assert.match(logged, /made_by_test/);
    for (const secret of [DIGEST, user.email]) assert.ok(!logged.includes(secret), secret);
  });
});
