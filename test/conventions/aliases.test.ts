import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { multipart } from "#test/support/wire.ts";

describe("aliases for client quirks", () => {
  let app: TestApp;
  let user: TestUser;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    user = await app.makeUser();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  test("camelCase names in a multipart PUT /users/:id", async () => {
    const form = multipart({ projectsLimit: "7", canCreateGroup: "false", privateProfile: "true", jobTitle: "Rigger" });
    const { status, body } = await app.put(`/users/${user.id}`, {
      ...form,
      headers: { ...form.headers, "private-token": admin.token },
    });
    assert.equal(status, 200);
    assert.equal(body.projects_limit, 7);
    assert.equal(body.can_create_group, false);
    assert.equal(body.private_profile, true);
    assert.equal(body.job_title, "Rigger");
  });

  test("in JSON a camelCase name is unknown", async () => {
    const { body } = await app.put(`/users/${user.id}`, { token: admin.token, payload: { projectsLimit: 99 } });
    assert.notEqual(body.projects_limit, 99);
  });

  test("scopes as a comma-separated string", async () => {
    const create = (scopes: unknown) =>
      app.post(`/users/${user.id}/personal_access_tokens`, { token: admin.token, payload: { name: "n", scopes } });
    assert.deepEqual((await create("read_api, read_user")).body.scopes, ["read_api", "read_user"]);
    assert.deepEqual((await create(["read_api", "read_user"])).body.scopes, ["read_api", "read_user"]);
    const { status, body } = await create("read_api,everything");
    assert.equal(status, 400);
    assert.deepEqual(body, { error: "scopes does not have a valid value" });
  });

  test("scopes[] in an urlencoded body", async () => {
    const { body } = await app.post(`/users/${user.id}/personal_access_tokens`, {
      token: admin.token,
      payload: "name=n&scopes[]=read_api&scopes[]=read_user",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    assert.deepEqual(body.scopes, ["read_api", "read_user"]);
  });

  test("a trailing slash and a bare ? are ignored", async () => {
    for (const path of ["/user/", "/user?", "/user/?"]) {
      assert.equal((await app.get(path, { token: user.token })).body.id, user.id, path);
    }
  });
});
