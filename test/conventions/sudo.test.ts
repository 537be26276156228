import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

describe("sudo", () => {
  let app: TestApp;
  let root: TestUser;
  let other: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    root = await app.makeUser({ admin: true }, ["api", "sudo"]);
    other = await app.makeUser({ admin: true }, ["api", "sudo"]);
    user = await app.makeUser({ note: "seen by administrators" });
  });
  after(() => app.close());

  test("works as parameter or header, with id or username in any case, on any endpoint", async () => {
    const { token } = root;
    const asked = [
      app.get(`/user?sudo=${user.id}`, { token }),
      app.get(`/user?sudo=${user.username.toUpperCase()}`, { token }),
      app.get("/user", { token, headers: { sudo: String(user.id) } }),
      app.get("/user", { token, headers: { Sudo: user.username } }),
      app.get("/user", { token, payload: { sudo: user.id } }),
    ];
    for (const { status, body } of await Promise.all(asked)) {
      assert.equal(status, 200);
      assert.equal(body.id, user.id);
      assert.equal("note" in body, false, "the view is the user's own");
    }
    const tokens = await app.get(`/personal_access_tokens?sudo=${user.id}`, { token });
    assert.deepEqual(new Set(tokens.body.map((item: { user_id: number }) => item.user_id)), new Set([user.id]));
  });

  test("the request has the rights of the other user", async () => {
    const { token } = root;
    assert.equal((await app.put(`/users/${user.id}?sudo=${user.id}`, { token, payload: {} })).status, 403);
    assert.equal((await app.put(`/users/${user.id}?sudo=${other.id}`, { token, payload: {} })).status, 200);
    assert.equal((await app.get(`/user?sudo=${other.id}`, { token })).body.is_admin, true);
  });

  test("an anonymous caller gets 401, a user who is not an administrator 403", async () => {
    assert.equal((await app.get(`/users?sudo=${user.id}`)).status, 401);
    const { status, body } = await app.get(`/user?sudo=${root.id}`, { token: user.token });
    assert.equal(status, 403);
    assert.deepEqual(body, { message: "403 Forbidden - Must be admin to use sudo" });
  });

  test("the token needs the scope sudo and a scope of the endpoint", async () => {
    const plain = await app.makeToken(root.id, { scopes: ["api"] });
    const refused = await app.get(`/user?sudo=${user.id}`, { token: plain.token });
    assert.equal(refused.status, 403);
    assert.equal(refused.body.error, "insufficient_scope");
    assert.equal(refused.body.scope, "sudo");
    const sudoOnly = await app.makeToken(root.id, { scopes: ["sudo"] });
    assert.equal((await app.get(`/user?sudo=${user.id}`, { token: sudoOnly.token })).status, 403);
    const reading = await app.makeToken(root.id, { scopes: ["sudo", "read_user"] });
    assert.equal((await app.get(`/user?sudo=${user.id}`, { token: reading.token })).status, 200);
    const write = await app.put(`/users/${user.id}?sudo=${other.id}`, { token: reading.token, payload: {} });
    assert.equal(write.status, 403);
  });

  test("is never nested: the first user counts, and a list is refused", async () => {
    const both = await app.get(`/user?sudo=${user.id}`, { token: root.token, headers: { sudo: String(other.id) } });
    assert.equal(both.body.id, user.id);
    for (const query of [`sudo[]=${user.id}&sudo[]=${other.id}`, `sudo[a]=${user.id}`]) {
      const { status, body } = await app.get(`/user?${query}`, { token: root.token });
      assert.equal(status, 400);
      assert.deepEqual(body, { error: "sudo is invalid" });
    }
  });

  test("an unknown user is 404, a blocked one 403", async () => {
    const { status, body } = await app.get("/user?sudo=nobody-here", { token: root.token });
    assert.equal(status, 404);
    assert.deepEqual(body, { message: "404 User with ID or username 'nobody-here' Not Found" });
    const blocked = await app.makeUser({ state: "blocked" });
    assert.equal((await app.get(`/user?sudo=${blocked.id}`, { token: root.token })).status, 403);
  });

  test("a username of digits is found if no user has that id", async () => {
    const named = await app.makeUser({ username: "8877665544332211" });
    const { body } = await app.get("/user?sudo=8877665544332211", { token: root.token });
    assert.equal(body.id, named.id);
  });

  test("the audit log names both users", async () => {
    const { status } = await app.put(`/users/${user.id}?sudo=${other.id}`, {
      token: root.token,
      payload: { bio: "s" },
    });
    assert.equal(status, 200);
    const row = await app.services.db.read
      .selectFrom("audit_events")
      .selectAll()
      .where("target_type", "=", "User")
      .where("target_id", "=", user.id)
      .orderBy("id", "desc")
      .limit(1)
      .executeTakeFirstOrThrow();
    assert.equal(row.event, "user_updated");
    assert.equal(row.actor_id, other.id);
    assert.equal(row.sudo_actor_id, root.id);
  });
});
