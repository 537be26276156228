import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Scope } from "#access/scopes.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import { multipart } from "#test/support/wire.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };

describe("tokens", () => {
  let app: TestApp;
  let user: TestUser;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    user = await app.makeUser();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  test("are accepted as PRIVATE-TOKEN, Bearer, and private_token and access_token in query, JSON and urlencoded bodies", async () => {
    const { token } = user;
    for (const [path, call] of [
      ["/user", { headers: { "PRIVATE-TOKEN": token } }],
      ["/user", { headers: { "Private-Token": token } }],
      ["/user", { headers: { authorization: `Bearer ${token}` } }],
      ["/user", { headers: { authorization: `bearer ${token}` } }],
      [`/user?private_token=${token}`, {}],
      ["/user", { payload: { private_token: token } }],
      ["/user", { payload: `private_token=${token}`, headers: FORM }],
      [`/user?access_token=${token}`, {}],
      ["/user", { payload: { access_token: token } }],
      ["/user", { payload: `access_token=${token}`, headers: FORM }],
    ] as const) {
      const { status, body } = await app.get(path, call);
      assert.equal(status, 200, JSON.stringify(call));
      assert.equal(body.id, user.id);
    }
  });

  test("are ignored in a multipart body, which is read after authentication", async () => {
    assert.equal((await app.put(`/users/${user.id}`, multipart({ access_token: admin.token }))).status, 401);
    const form = multipart({ private_token: admin.token, name: "x" });
    assert.equal((await app.put(`/users/${user.id}`, form)).status, 401);
    const signed = { ...form, headers: { ...form.headers, "private-token": admin.token } };
    assert.equal((await app.put(`/users/${user.id}`, signed)).status, 200);
  });

  test("two different tokens in one request are 401, the same one twice is accepted", async () => {
    const { token: second } = await app.makeToken(user.id);
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const refused = await app.get("/user", { token: user.token, headers: bearer(second) });
    const message = "401 Unauthorized - The request has two different tokens; send one";
    assert.deepEqual([refused.status, refused.body], [401, { message }]);
    assert.equal((await app.get(`/user?private_token=${second}`, { token: user.token })).status, 401);
    assert.equal((await app.get(`/user?access_token=${second}&private_token=${user.token}`)).status, 401);
    assert.equal((await app.get(`/user?access_token=${user.token}&private_token=${user.token}`)).status, 200);
    assert.deepEqual((await app.get("/user?access_token[]=x")).body, { error: "access_token is invalid" });
    assert.equal((await app.get("/users", { token: user.token, headers: bearer("nonsense") })).status, 401);
    assert.equal((await app.get("/user", { token: user.token, headers: bearer(user.token) })).status, 200);
  });

  test("an unknown token is 401 on public endpoints too", async () => {
    assert.equal((await app.get("/users")).status, 200);
    const { status, body } = await app.get("/users", { token: "flpat-nobody-has-this-token" });
    assert.equal(status, 401);
    assert.deepEqual(body, { message: "401 Unauthorized" });
    assert.equal((await app.get("/users", { token: "x".repeat(5000) })).status, 401);
  });

  test("a 401 names Bearer, and never Basic, for which browsers open a dialog", async () => {
    const bearer = 'Bearer realm="Fairlead"';
    const { token: expired } = await app.makeToken(user.id, { expires_at: "2020-01-01" });
    for (const [call, challenge] of [
      [{}, bearer],
      [{ token: "flpat-nobody-has-this-token" }, bearer],
      [{ headers: { authorization: "Basic eDp5" } }, bearer],
      [{ token: expired }, `${bearer}, error="invalid_token"`],
    ] as const) {
      const { status, headers } = await app.get("/user", call);
      assert.deepEqual([status, headers["www-authenticate"]], [401, challenge]);
    }
    assert.equal((await app.get("/user", { token: user.token })).headers["www-authenticate"], undefined);
    assert.equal((await app.get("/service_accounts", { token: user.token })).headers["www-authenticate"], undefined);
  });

  test("have at least 160 random bits and are stored only as SHA-256", async () => {
    const payload = { name: "n", scopes: ["api"] };
    const made = await app.post(`/users/${user.id}/personal_access_tokens`, { token: admin.token, payload });
    const { token, id } = made.body;
    assert.match(token, /^flpat-[\w-]{27,}$/);
    const row = await app.services.db.read
      .selectFrom("personal_access_tokens")
      .selectAll()
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    assert.equal(row.token_digest.length, 32);
    assert.ok(!JSON.stringify(row).includes(token));
    const values = new Set<string>();
    for (let n = 0; n < 5; n++) {
      const again = await app.post(`/users/${user.id}/personal_access_tokens`, { token: admin.token, payload });
      values.add(again.body.token);
    }
    assert.equal(values.size, 5);
  });

  test("a revoked or expired token is refused by every process at once", async () => {
    const other = await testApp();
    try {
      for (const columns of [
        { revoked_at: new Date().toISOString() },
        { expires_at: new Date().toISOString().slice(0, 10) },
      ]) {
        const { id, token } = await app.makeToken(user.id);
        assert.equal((await other.get("/user", { token })).status, 200);
        await app.services.db.write.updateTable("personal_access_tokens").set(columns).where("id", "=", id).execute();
        assert.equal((await other.get("/user", { token })).status, 401);
      }
      const { id, token } = await app.makeToken(user.id);
      assert.equal((await other.get("/user", { token })).status, 200);
      assert.equal((await app.delete(`/personal_access_tokens/${id}`, { token })).status, 204);
      assert.equal((await other.get("/user", { token })).status, 401);
    } finally {
      await other.close();
    }
  });

  test("the use of a token is recorded at most every ten minutes", async () => {
    const someone = await app.makeUser();
    const used = () =>
      app.services.db.read
        .selectFrom("personal_access_tokens")
        .select("last_used_at")
        .where("id", "=", someone.tokenId)
        .executeTakeFirstOrThrow();
    const today = () => new Date().toISOString().slice(0, 10);
    const day = today();
    assert.equal((await used()).last_used_at, null);
    await app.get("/user", { token: someone.token });
    const first = await until("it is recorded", async () => (await used()).last_used_at ?? undefined);
    await app.get("/user", { token: someone.token });
    await new Promise((resolve) => setTimeout(resolve, 1200));
    assert.equal((await used()).last_used_at, first);
    const active = await until("the day is recorded", async () => {
      return (await app.get("/user", { token: someone.token })).body.last_activity_on ?? undefined;
    });
    assert.ok([day, today()].includes(active), active);
  });

  describe("scopes", () => {
    /** The statuses of a read and a write with tokens of these scopes. */
    async function statuses(owner: TestUser, scopes: readonly Scope[]) {
      const { token } = await app.makeToken(owner.id, { scopes: [...scopes] });
      const read = await app.get("/users", { token });
      const write = await app.put(`/users/${user.id}`, { token, payload: {} });
      return [read.status, write.status];
    }

    test("api allows everything, read_api and read_user only reads", async () => {
      assert.deepEqual(await statuses(admin, ["api"]), [200, 200]);
      assert.deepEqual(await statuses(admin, ["read_api"]), [200, 403]);
      assert.deepEqual(await statuses(admin, ["read_user"]), [200, 403]);
      assert.deepEqual(await statuses(admin, ["sudo", "admin_mode"]), [403, 403]);
      assert.deepEqual(await statuses(admin, ["read_repository", "write_repository"]), [403, 403]);
    });

    test("read_user allows users and versions, not tokens", async () => {
      const { token } = await app.makeToken(user.id, { scopes: ["read_user"] });
      for (const path of ["/user", "/users", `/users/${user.id}`, "/version", "/metadata"]) {
        assert.equal((await app.get(path, { token })).status, 200, path);
      }
      const { status, body } = await app.get("/personal_access_tokens", { token });
      assert.equal(status, 403);
      assert.equal(body.scope, "api read_api");
    });

    test("any scope may read and revoke its own token; self_rotate may rotate it", async () => {
      const { token } = await app.makeToken(user.id, { scopes: ["k8s_proxy"] });
      assert.equal((await app.get("/personal_access_tokens/self", { token })).status, 200);
      assert.equal((await app.post("/personal_access_tokens/self/rotate", { token })).status, 403);
      assert.equal((await app.delete("/personal_access_tokens/self", { token })).status, 204);
      const rotating = await app.makeToken(user.id, { scopes: ["self_rotate"] });
      const rotated = await app.post("/personal_access_tokens/self/rotate", { token: rotating.token });
      assert.equal(rotated.status, 200);
      assert.deepEqual(rotated.body.scopes, ["self_rotate"]);
    });
  });

  describe("states of an account", () => {
    for (const [columns, reason] of [
      [{ state: "blocked" }, "Your account has been blocked."],
      [{ state: "ldap_blocked" }, "Your account has been blocked."],
      [{ state: "banned" }, "Your account has been blocked."],
      [
        { state: "blocked_pending_approval" },
        "Your account is pending approval from your administrator and hence blocked.",
      ],
      [{ state: "deactivated" }, "Your account has been deactivated by your administrator."],
      [{ confirmed_at: null }, "Your primary email address is not confirmed."],
      [{ password_expired: true }, "Your password expired."],
      [{ user_type: "ghost" }, "This action cannot be performed by internal users"],
    ] as const) {
      test(`${JSON.stringify(columns)} is 403 and says why`, async () => {
        const someone = await app.makeUser(columns);
        const { status, body } = await app.get("/user", { token: someone.token });
        assert.equal(status, 403);
        assert.ok(body.message.startsWith(`403 Forbidden - ${reason}`), body.message);
        assert.equal((await app.get("/users", { token: someone.token })).status, 403);
      });
    }

    test("an expired token of a blocked user is reported as expired", async () => {
      const someone = await app.makeUser({ state: "blocked" });
      const { token } = await app.makeToken(someone.id, { expires_at: "2020-01-01" });
      assert.equal((await app.get("/user", { token })).body.error, "invalid_token");
    });
  });
});
