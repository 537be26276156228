import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { join, makeGroup, makeProject } from "#domains/organization/groups/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

describe("memberships of a user", () => {
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  let group: { id: number; name: string };
  let project: { id: number; name: string };
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
    user = await app.makeUser();
    group = await makeGroup(app, admin);
    project = await makeProject(app, group.id);
    const expired = await makeProject(app, group.id);
    await join(app, group.id, user, 30);
    await app.services.db.write
      .insertInto("members")
      .values([
        { project_id: project.id, user_id: user.id, access_level: 40, expires_at: null },
        { project_id: expired.id, user_id: user.id, access_level: 40, expires_at: "2001-01-01" },
      ])
      .execute();
  });
  after(() => app.close());

  test("administrators list the memberships that have not expired, of groups, projects or both", async () => {
    const inGroup = { source_id: group.id, source_name: group.name, source_type: "Namespace", access_level: 30 };
    const inProject = { source_id: project.id, source_name: project.name, source_type: "Project", access_level: 40 };
    const list = async (query = "") =>
      (await app.get(`/users/${user.id}/memberships${query}`, { token: admin.token })).body;
    assert.deepEqual(await list(), [inGroup, inProject]);
    assert.deepEqual(await list("?type=Project"), [inProject]);
    assert.deepEqual(await list("?type=Namespace"), [inGroup]);
    assert.deepEqual(await list("?type=Other"), { error: "type does not have a valid value" });
    assert.equal((await app.get(`/users/${user.id}/memberships`, { token: user.token })).status, 403);
    assert.equal((await app.get("/users/999999999/memberships", { token: admin.token })).status, 404);
  });

  test("associations_count is for oneself and administrators", async () => {
    const expected = { groups_count: 1, projects_count: 1, issues_count: 0, merge_requests_count: 0 };
    for (const { token } of [user, admin]) {
      assert.deepEqual((await app.get(`/users/${user.id}/associations_count`, { token })).body, expected);
    }
    const other = await app.makeUser();
    assert.equal((await app.get(`/users/${user.id}/associations_count`, { token: other.token })).status, 403);
    assert.equal((await app.get("/users/999999999/associations_count", { token: admin.token })).status, 404);
    assert.equal((await app.get(`/users/${user.id}/associations_count`)).status, 401);
  });
});
