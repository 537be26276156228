import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
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

  test("returns the successor, and the old token ends at once", async () => {
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

  test("the successor expires after a week, or as requested", async () => {
    const { id } = await app.makeToken(user.id);
    const first = await rotate(id, user.token);
    assert.equal(first.body.expires_at, inDays(7));
    const second = await rotate(first.body.id, user.token, { expires_at: inDays(30) });
    assert.equal(second.body.expires_at, inDays(30));
    const late = await rotate(second.body.id, user.token, { expires_at: inDays(400) });
    assert.equal(late.status, 422);
    assert.equal(await works(second.body.token), true, "a refused rotation ends nothing");
  });

  test("the successor gets the maximum lifetime if the setting require_token_expiry is off", async () => {
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

  test("a token can rotate itself", async () => {
    const own = await app.makeToken(user.id);
    const { status, body } = await rotate("self", own.token);
    assert.equal(status, 200);
    assert.equal(await works(own.token), false);
    assert.equal(await works(body.token), true);
  });

  test("users rotate their own tokens, administrators any; a token of another user is answered like a missing one", async () => {
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

  test("of two concurrent rotations one succeeds", async () => {
    const { id } = await app.makeToken(user.id);
    const answers = await Promise.all([1, 2, 3].map(() => rotate(id, user.token)));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 400, 400],
    );
  });

  const revokedAgo = (ids: readonly number[], seconds: number) =>
    app.services.db.write
      .updateTable("personal_access_tokens")
      .set({ revoked_at: sql<string>`now() - make_interval(secs => ${seconds})` })
      .where("id", "in", ids)
      .execute();

  /** A token, its successor and the successor's successor, rotated a while ago. */
  async function chain(seconds = 11) {
    const first = await app.makeToken(user.id);
    const second = (await rotate("self", first.token)).body;
    const third = (await rotate("self", second.token)).body;
    await revokedAgo([first.id, second.id], seconds);
    return { first, second, third };
  }

  test("rotating with a revoked token is 401 and revokes all its successors", async () => {
    for (const path of ["self", "id"] as const) {
      const { first, second, third } = await chain();
      assert.equal(await works(third.token), true);
      const { status, body } = await rotate(path === "self" ? "self" : third.id, first.token);
      assert.equal(status, 401);
      assert.equal(body.error, "invalid_token");
      for (const { token } of [second, third]) assert.equal(await works(token), false, path);
    }
  });

  test("within ten seconds of the revocation the successors stay, since the requests may be concurrent", async () => {
    const { first, second, third } = await chain(8);
    for (const token of [first.token, second.token]) {
      const { status, body } = await rotate("self", token);
      assert.equal(status, 401);
      assert.equal(body.error, "invalid_token");
    }
    assert.equal(await works(third.token), true);
  });

  test("a revoked token that has expired revokes its successors too", async () => {
    const { first, third } = await chain();
    await app.services.db.write
      .updateTable("personal_access_tokens")
      .set({ expires_at: "2020-01-01" })
      .where("id", "=", first.id)
      .execute();
    assert.equal((await rotate("self", first.token)).status, 401);
    assert.equal(await works(third.token), false);
  });

  test("other endpoints and other tokens are not affected", async () => {
    const { second, third } = await chain();
    assert.equal((await app.get("/user", { token: second.token })).status, 401);
    assert.equal(await works(third.token), true, "an ordinary path ends nothing");
    assert.equal((await rotate("self", second.token)).status, 401);
    assert.equal(await works(third.token), false);
    assert.equal(await works(user.token), true);
  });

  describe("with a grace period", () => {
    const one = async (id: number) => (await app.get(`/personal_access_tokens/${id}`, { token: admin.token })).body;

    test("the old token still works beside its successor, and is shown as active", async () => {
      const old = await app.makeToken(user.id);
      const { status, body } = await rotate(old.id, user.token, { grace_period: 600 });
      assert.equal(status, 200);
      assert.equal(await works(old.token), true);
      assert.equal(await works(body.token), true);
      const { revoked, active } = await one(old.id);
      assert.deepEqual({ revoked, active }, { revoked: false, active: true });
      for (const query of ["state=active", "revoked=false"]) {
        const { body: list } = await app.get(`/personal_access_tokens?${query}&per_page=100`, { token: user.token });
        assert.ok(
          list.some(({ id }: { id: number }) => id === old.id),
          query,
        );
      }
      const { rows } = await sql<{ seconds: number }>`select extract(epoch from revoked_at - now())::float8 as seconds
        from personal_access_tokens where id = ${old.id}`.execute(app.services.db.write);
      assert.ok(rows[0] && rows[0].seconds > 590 && rows[0].seconds <= 600);
    });

    test("the old token ends with the period", async () => {
      const old = await app.makeToken(user.id);
      const { body } = await rotate(old.id, user.token, { grace_period: 600 });
      assert.equal(await works(old.token), true);
      await sql`update personal_access_tokens set revoked_at = revoked_at - interval '10 minutes'
        where id = ${old.id}`.execute(app.services.db.write);
      assert.equal(await works(old.token), false);
      assert.equal(await works(body.token), true);
      const { revoked, active } = await one(old.id);
      assert.deepEqual({ revoked, active }, { revoked: true, active: false });
      for (const query of ["state=inactive", "revoked=true"]) {
        const { body: list } = await app.get(`/personal_access_tokens?${query}&per_page=100`, { token: user.token });
        assert.ok(
          list.some(({ id }: { id: number }) => id === old.id),
          query,
        );
      }
    });

    test("the old token cannot be rotated again, but it can be revoked at once", async () => {
      const old = await app.makeToken(user.id);
      const { body } = await rotate("self", old.token, { grace_period: 600 });
      for (const again of [await rotate("self", old.token), await rotate(old.id, admin.token, { grace_period: 5 })]) {
        assert.equal(again.status, 400);
        assert.match(again.body.message, /^400 Bad request - Token already revoked: .+ until \d{4}-\d\d-\d\dT.+Z$/);
      }
      assert.equal((await app.delete(`/personal_access_tokens/${old.id}`, { token: admin.token })).status, 204);
      assert.equal(await works(old.token), false);
      assert.equal(await works(body.token), true);
      assert.equal((await app.delete(`/personal_access_tokens/${old.id}`, { token: admin.token })).status, 400);
    });

    test("rotating with the old token long after the period revokes its successors", async () => {
      const old = await app.makeToken(user.id);
      const { body } = await rotate("self", old.token, { grace_period: 600 });
      const next = (await rotate("self", body.token, { grace_period: 600 })).body;
      await revokedAgo([old.id], 11);
      assert.equal((await rotate("self", old.token)).status, 401);
      assert.equal(await works(body.token), false, "one in its grace ends too");
      assert.equal(await works(next.token), false);
    });

    test("it has 0 seconds to a week, in whole seconds", async () => {
      const { id } = await app.makeToken(user.id);
      for (const grace_period of [-1, 604_801, 1.5, "soon", [1], 1e300]) {
        const { status } = await rotate(id, user.token, { grace_period });
        assert.equal(status, 400, String(grace_period));
      }
      const first = await rotate(id, user.token, { grace_period: 604_800 });
      assert.equal(first.status, 200);
      assert.equal((await rotate(first.body.id, user.token, { grace_period: "0" })).status, 200);
      assert.equal(await works(first.body.token), false);
    });
  });

  test("a token with scopes for administrators cannot be rotated by a former administrator", async () => {
    const former = await app.makeUser({ admin: true }, ["api", "sudo"]);
    await app.services.db.write.updateTable("users").set({ admin: false }).where("id", "=", former.id).execute();
    const { status, body } = await rotate("self", former.token);
    assert.equal(status, 400);
    assert.match(body.message, /administrators' tokens/);
    assert.equal(await works(former.token), true, "a refused rotation ends nothing");
  });
});
