import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

describe("rotation of tokens", () => {
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
    user = await app.makeUser();
  });
  after(() => app.close());

  const rotate = (id: number | "self", token: string, payload?: object) =>
    app.post(`/personal_access_tokens/${id}/rotate`, { token, ...(payload && { payload }) });
  const works = async (token: string) => (await app.get("/user", { token })).status === 200;

  test("200 with the successor, and the old one ends at once", async () => {
    const old = await app.makeToken(user.id, { name: "deploys", description: "d", scopes: ["api", "read_user"] });
    const { status, body } = await rotate(old.id, user.token);
    assert.equal(status, 200);
    assert.notEqual(body.id, old.id);
    assert.equal(body.name, "deploys");
    assert.equal(body.description, "d");
    assert.deepEqual(body.scopes, ["api", "read_user"]);
    assert.equal(body.user_id, user.id);
    assert.equal(await works(body.token), true);
    assert.equal(await works(old.token), false);
    assert.equal(await works(user.token), true, "other tokens stay");
  });

  test("one week by default, or as asked", async () => {
    const { id } = await app.makeToken(user.id);
    const first = await rotate(id, user.token);
    assert.equal(first.body.expires_at, inDays(7));
    const second = await rotate(first.body.id, user.token, { expires_at: inDays(30) });
    assert.equal(second.body.expires_at, inDays(30));
    const late = await rotate(second.body.id, user.token, { expires_at: inDays(400) });
    assert.equal(late.status, 422);
    assert.equal(await works(second.body.token), true, "a refused rotation ends nothing");
  });

  test("the longest lifetime where the setting require_token_expiry is off", async () => {
    const relaxed = await testApp({ databaseUrl: await freshDatabase() });
    try {
      await relaxed.services.db.write.updateTable("settings").set({ require_token_expiry: false }).execute();
      const { token } = await relaxed.makeUser();
      const { body } = await relaxed.post("/personal_access_tokens/self/rotate", { token });
      assert.equal(body.expires_at, inDays(365));
    } finally {
      await relaxed.close();
    }
  });

  test("itself, by its own value", async () => {
    const own = await app.makeToken(user.id);
    const { status, body } = await rotate("self", own.token);
    assert.equal(status, 200);
    assert.equal(await works(own.token), false);
    assert.equal(await works(body.token), true);
  });

  test("one's own or, for administrators, anybody's; another's is as if it were not there", async () => {
    const theirs = await app.makeToken(admin.id);
    assert.equal((await rotate(theirs.id, user.token)).status, 404);
    const mine = await app.makeToken(user.id);
    assert.equal((await rotate(mine.id, admin.token)).status, 200);
    assert.equal((await rotate(mine.id, "")).status, 401);
  });

  test("rotating a revoked token is 400", async () => {
    const gone = await app.makeToken(user.id, { revoked_at: new Date().toISOString() });
    const { status, body } = await rotate(gone.id, user.token);
    assert.equal(status, 400);
    assert.deepEqual(body, { message: "400 Bad request - Token already revoked" });
  });

  test("two who rotate at once: one successor, the other is refused", async () => {
    const { id } = await app.makeToken(user.id);
    const answers = await Promise.all([1, 2, 3].map(() => rotate(id, user.token)));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 400, 400],
    );
  });

  /** A token, its successor and that one's successor. */
  async function chain() {
    const first = await app.makeToken(user.id);
    const second = (await rotate("self", first.token)).body;
    const third = (await rotate("self", second.token)).body;
    return { first, second, third };
  }

  test("a revoked token shown to a rotate path: 401, and everything that came from it ends", async () => {
    for (const path of ["self", "id"] as const) {
      const { first, second, third } = await chain();
      assert.equal(await works(third.token), true);
      const { status, body } = await rotate(path === "self" ? "self" : third.id, first.token);
      assert.equal(status, 401);
      assert.equal(body.error, "invalid_token");
      for (const { token } of [second, third]) assert.equal(await works(token), false, path);
    }
  });

  test("also when the revoked token is past its time as well", async () => {
    const { first, third } = await chain();
    await app.services.db.write
      .updateTable("personal_access_tokens")
      .set({ expires_at: "2020-01-01" })
      .where("id", "=", first.id)
      .execute();
    assert.equal((await rotate("self", first.token)).status, 401);
    assert.equal(await works(third.token), false);
  });

  test("only there, and only what came from it", async () => {
    const { second, third } = await chain();
    assert.equal((await app.get("/user", { token: second.token })).status, 401);
    assert.equal(await works(third.token), true, "an ordinary path ends nothing");
    assert.equal((await rotate("self", second.token)).status, 401);
    assert.equal(await works(third.token), false);
    assert.equal(await works(user.token), true);
  });

  test("the scopes of administrators do not outlive the office", async () => {
    const former = await app.makeUser({ admin: true }, ["api", "sudo"]);
    await app.services.db.write.updateTable("users").set({ admin: false }).where("id", "=", former.id).execute();
    const { status, body } = await rotate("self", former.token);
    assert.equal(status, 400);
    assert.match(body.message, /administrators' tokens/);
    assert.equal(await works(former.token), true, "a refused rotation ends nothing");
  });
});
