import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const NOTHING = { emoji: null, message: null, availability: null, message_html: null, clear_status_at: null };

describe("status of users", () => {
  let app: TestApp;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    user = await app.makeUser();
  });
  after(() => app.close());

  const put = (payload: object) => app.put("/user/status", { token: user.token, payload });
  const patch = (payload: object) => app.call("PATCH", "/user/status", { token: user.token, payload });
  const seen = async (id: number | string, token?: string) => (await app.get(`/users/${id}/status`, { token })).body;

  test("without a status all fields are null", async () => {
    assert.deepEqual((await app.get("/user/status", { token: user.token })).body, NOTHING);
    assert.deepEqual(await seen(user.id), NOTHING);
  });

  test("is visible to everyone, by id and by username in any case", async () => {
    const { status, body } = await put({ emoji: "coffee", message: 'Back at <3> & "4" o\'clock' });
    assert.equal(status, 200);
    assert.deepEqual(body, {
      emoji: "coffee",
      message: 'Back at <3> & "4" o\'clock',
      availability: "not_set",
      message_html: "Back at &lt;3&gt; &amp; &quot;4&quot; o&#39;clock",
      clear_status_at: null,
    });
    assert.deepEqual(await seen(user.id), body);
    assert.deepEqual(await seen(user.username.toUpperCase()), body);
    const { status: missing, body: refusal } = await app.get("/users/nobody-of-this-name/status");
    assert.equal(missing, 404);
    assert.deepEqual(refusal, { message: "404 User Not Found" });
  });

  test("PUT empties fields that are not sent, PATCH keeps them", async () => {
    await put({ emoji: "coffee", message: "here", availability: "busy", clear_status_after: "3_days" });
    const kept = (await patch({ message: "there" })).body;
    assert.equal(kept.emoji, "coffee");
    assert.equal(kept.message, "there");
    assert.equal(kept.availability, "busy");
    assert.notEqual(kept.clear_status_at, null);
    assert.equal((await patch({ clear_status_after: null })).body.clear_status_at, null);
    const { body } = await put({ message: "only this" });
    assert.deepEqual(body, {
      ...{ emoji: "speech_balloon", message: "only this", availability: "not_set" },
      ...{ message_html: "only this", clear_status_at: null },
    });
    assert.deepEqual((await put({})).body, NOTHING);
    assert.deepEqual(await seen(user.id), NOTHING);
  });

  test("ends at its time", async () => {
    const before = Date.now();
    const { body } = await put({ message: "soon gone", clear_status_after: "30_minutes" });
    const minutes = (Date.parse(body.clear_status_at) - before) / 60_000;
    assert.ok(minutes > 29 && minutes < 31, String(minutes));
    await sql`update user_statuses set clear_status_at = now() - interval '1 second' where user_id = ${user.id}`.execute(
      app.services.db.write,
    );
    assert.deepEqual(await seen(user.id), NOTHING);
    assert.deepEqual((await patch({ emoji: "tea" })).body.message, "", "what has ended does not come back");
  });

  test("an invalid status is refused", async () => {
    for (const [payload, message] of [
      [{ message: "x".repeat(101) }, { message: ["is too long (maximum is 100 characters)"] }],
      [{ emoji: "no such, surely" }, { emoji: ["is not a valid emoji name"] }],
    ] as const) {
      const { status, body } = await put(payload);
      assert.equal(status, 400);
      assert.deepEqual(body, { message });
    }
    assert.deepEqual((await put({ availability: "asleep" })).body, {
      error: "availability does not have a valid value",
    });
    assert.deepEqual((await put({ clear_status_after: "2_days" })).body, {
      error: "clear_status_after does not have a valid value",
    });
    assert.equal((await app.put("/user/status", { payload: {} })).status, 401);
  });

  test("is hidden from others if the profile is private", async () => {
    const admin = await app.makeUser({ admin: true });
    const other = await app.makeUser();
    for (const columns of [{ private_profile: true }, { state: "blocked" }] as const) {
      const shy = await app.makeUser(columns);
      await sql`insert into user_statuses (user_id, message) values (${shy.id}, 'secret')`.execute(
        app.services.db.write,
      );
      assert.deepEqual(await seen(shy.id), NOTHING);
      assert.deepEqual(await seen(shy.id, other.token), NOTHING);
      assert.equal((await seen(shy.id, admin.token)).message, "secret");
    }
  });
});
