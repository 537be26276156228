import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Value from "typebox/value";
import { ADMINISTRATOR_SCOPES, SCOPES } from "#access/scopes.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { beginSession } from "#test/support/sessions.ts";
import { NewToken, Token } from "./entity.ts";

/** The date in UTC this many days from now. */
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

describe("personal access tokens", () => {
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
    user = await app.makeUser();
  });
  after(() => app.close());

  const create = (payload: object, of = user.id) =>
    app.post(`/users/${of}/personal_access_tokens`, { token: admin.token, payload });
  const named = { name: "n", scopes: ["api"] };
  const works = async (token: string) => (await app.get("/user", { token })).status === 200;

  test("an administrator creates a token for a user; the value is shown only once", async () => {
    const { status, body } = await create({ ...named, description: "d", expires_at: inDays(10) });
    assert.equal(status, 201);
    assert.ok(Value.Check(NewToken, body));
    const { id, created_at, token, ...rest } = body;
    assert.ok(created_at);
    assert.deepEqual(rest, {
      name: "n",
      revoked: false,
      description: "d",
      scopes: ["api"],
      user_id: user.id,
      last_used_at: null,
      active: true,
      expires_at: inDays(10),
    });
    assert.equal((await app.get("/user", { token })).body.id, user.id);
    const again = await app.get(`/personal_access_tokens/${id}`, { token: admin.token });
    assert.ok(Value.Check(Token, again.body));
    assert.equal("token" in again.body, false);
  });

  test("only administrators create tokens for others", async () => {
    const path = `/users/${user.id}/personal_access_tokens`;
    assert.equal((await app.post(path, { token: user.token, payload: named })).status, 403);
    assert.equal((await app.post(path, { payload: named })).status, 401);
    const { status, body } = await create(named, 999_999_999);
    assert.equal(status, 404);
    assert.deepEqual(body, { message: "404 User Not Found" });
  });

  test("a token without expires_at expires after 365 days, which is also the maximum", async () => {
    assert.equal((await create(named)).body.expires_at, inDays(365));
    assert.equal((await create({ ...named, expires_at: inDays(365) })).body.expires_at, inDays(365));
    for (const expires_at of [inDays(366), "9999-12-31", inDays(0), "2001-01-01"]) {
      const { status, body } = await create({ ...named, expires_at });
      assert.equal(status, 422, expires_at);
      assert.match(body.message, /^Expiration date must be /);
    }
    for (const expires_at of ["tomorrow", "2026-13-01", "2026-02-30T00:00:00Z"]) {
      assert.deepEqual((await create({ ...named, expires_at })).body, { error: "expires_at is invalid" }, expires_at);
    }
  });

  test("all scopes are accepted, sudo and admin_mode only for administrators", async () => {
    const { body } = await create({ ...named, scopes: [...SCOPES] }, admin.id);
    assert.deepEqual(body.scopes.toSorted(), SCOPES.toSorted());
    for (const scope of ["sudo", "admin_mode"]) {
      const refused = await create({ ...named, scopes: ["api", scope] });
      assert.equal(refused.status, 400, scope);
      assert.match(refused.body.message, /^400 Bad request - /);
    }
    assert.deepEqual((await create({ ...named, scopes: ["api", "api"] })).body.scopes, ["api"]);
    assert.deepEqual((await create({ name: "n" })).body, { error: "scopes is missing" });
    assert.deepEqual((await create({ ...named, scopes: ["all"] })).body, {
      error: "scopes does not have a valid value",
    });
    assert.deepEqual((await create({ ...named, scopes: [] })).body, { message: "Scopes can't be blank" });
    assert.deepEqual((await create({ scopes: ["api"] })).body, { error: "name is missing" });
  });

  describe("of the calling user", () => {
    const OWN = "/user/personal_access_tokens";
    const bySession = async (who: TestUser, payload: object, headers = {}) =>
      app.post(OWN, { headers: { ...(await beginSession(app.services.db.write, who.id)), ...headers }, payload });

    test("by session: any scope that the user may hold", async () => {
      const forUsers = SCOPES.filter((scope) => !ADMINISTRATOR_SCOPES.includes(scope));
      const { status, body, headers } = await bySession(user, { name: "laptop", scopes: forUsers });
      assert.equal(status, 201);
      assert.ok(Value.Check(NewToken, body));
      assert.equal(body.user_id, user.id);
      assert.deepEqual(body.scopes.toSorted(), forUsers.toSorted());
      assert.equal(headers["cache-control"], "no-store");
      assert.equal((await app.get("/user", { token: body.token })).body.id, user.id);
      for (const scope of ADMINISTRATOR_SCOPES) {
        const scopes = ["api", scope];
        assert.equal((await bySession(user, { name: "n", scopes })).status, 400, scope);
        assert.deepEqual((await bySession(admin, { name: "n", scopes })).body.scopes, scopes);
      }
      assert.ok(!app.logged.join("").includes(body.token));
    });

    test("by session: only from the same site and with the CSRF token", async () => {
      for (const headers of [{ "sec-fetch-site": "cross-site" }, { "x-csrf-token": "x" }])
        assert.equal((await bySession(user, named, headers)).status, 403, JSON.stringify(headers));
    });

    test("by token: only k8s_proxy and self_rotate, whatever the scopes of the token", async () => {
      const own = (payload: object, token = user.token) => app.post(OWN, { token, payload });
      const { status, body } = await own({ name: "o", scopes: ["k8s_proxy", "self_rotate"] });
      assert.equal(status, 201);
      assert.equal(body.user_id, user.id);
      const all = await app.makeToken(admin.id, { scopes: [...SCOPES] });
      for (const scope of ["api", "read_api", "sudo"]) {
        for (const token of [user.token, all.token]) {
          const refused = await own({ name: "o", scopes: ["k8s_proxy", scope] }, token);
          assert.equal(refused.status, 400, scope);
          assert.deepEqual(refused.body, { error: "scopes does not have a valid value" });
        }
      }
      assert.equal((await app.post(OWN, { payload: named })).status, 401);
    });
  });

  test("self is the token of the request", async () => {
    const { id, token } = await app.makeToken(user.id, { name: "me" });
    const { body } = await app.get("/personal_access_tokens/self", { token });
    assert.equal(body.id, id);
    assert.equal(body.name, "me");
    assert.equal((await app.delete("/personal_access_tokens/self", { token })).status, 204);
    assert.equal(await works(token), false);
    const sudo = await app.makeToken(admin.id, { scopes: ["api", "sudo"] });
    assert.equal((await app.get(`/personal_access_tokens/self?sudo=${user.id}`, { token: sudo.token })).status, 400);
  });

  test("users revoke their own tokens, administrators any; revoking twice is 400", async () => {
    const mine = await app.makeToken(user.id);
    assert.equal((await app.delete(`/personal_access_tokens/${mine.id}`, { token: user.token })).status, 204);
    assert.equal(await works(mine.token), false);
    const again = await app.delete(`/personal_access_tokens/${mine.id}`, { token: user.token });
    assert.equal(again.status, 400);
    const theirs = await app.makeToken(admin.id);
    assert.equal((await app.delete(`/personal_access_tokens/${theirs.id}`, { token: user.token })).status, 404);
    assert.equal(await works(theirs.token), true);
    const other = await app.makeToken(user.id);
    assert.equal((await app.delete(`/personal_access_tokens/${other.id}`, { token: admin.token })).status, 204);
  });

  test("impersonation tokens are not shown", async () => {
    const { id } = await app.makeToken(user.id, { impersonation: true });
    assert.equal((await app.get(`/personal_access_tokens/${id}`, { token: user.token })).status, 404);
    assert.equal((await app.get(`/personal_access_tokens/${id}`, { token: admin.token })).status, 404);
    const { body } = await app.get("/personal_access_tokens", { token: user.token });
    assert.equal(
      body.some((item: { id: number }) => item.id === id),
      false,
    );
  });

  test("changes are audited, without the value", async () => {
    const { body, headers } = await create(named);
    const row = await app.services.db.read
      .selectFrom("audit_events")
      .selectAll()
      .where("request_id", "=", headers["x-request-id"] ?? "")
      .executeTakeFirstOrThrow();
    assert.equal(row.event, "personal_access_token_created");
    assert.equal(row.target_id, body.id);
    assert.deepEqual(row.details, { user_id: user.id, scopes: ["api"] });
    assert.ok(!JSON.stringify(row).includes(body.token));
  });
});
