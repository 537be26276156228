import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { GroupDetail } from "./entity.ts";
import { join, makeGroup, makeProject, shaped } from "./test-support.ts";

const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);

describe("sharing a group", () => {
  let app: TestApp;
  let owner: TestUser;
  let friend: TestUser;
  before(async () => {
    app = await testApp();
    owner = await app.makeUser();
    friend = await app.makeUser();
  });
  after(() => app.close());

  const share = (id: number, payload: Record<string, unknown>) =>
    app.post(`/groups/${id}/share`, { token: owner.token, payload });
  const unshare = (id: number, otherId: number) => app.delete(`/groups/${id}/share/${otherId}`, { token: owner.token });

  test("gives members of another group access, up to a level, until it expires", async () => {
    const group = await makeGroup(app, owner);
    const friends = await makeGroup(app, friend, { visibility: "public", name: "Friends" });
    const given = { group_id: friends.id, group_access: 30, expires_at: day(10) };
    assert.equal((await app.get(`/groups/${group.id}`, { token: friend.token })).status, 404);
    const body = shaped(await share(group.id, given), 201, GroupDetail);
    assert.deepEqual(body.shared_with_groups, [
      {
        group_id: friends.id,
        group_name: "Friends",
        group_full_path: friends.full_path,
        group_access_level: 30,
        expires_at: day(10),
      },
    ]);
    assert.equal((await app.get(`/groups/${group.id}`, { token: friend.token })).status, 200);
    const change = { token: friend.token, payload: { name: "x" } };
    assert.equal((await app.put(`/groups/${group.id}`, change)).status, 403, "an Owner there is a Developer here");

    const again = await share(group.id, given);
    assert.deepEqual([again.status, again.body], [409, { message: "The group is already shared with this group" }]);
    const ended = await unshare(group.id, friends.id);
    assert.deepEqual([ended.status, ended.text], [204, ""]);
    assert.equal((await app.get(`/groups/${group.id}`, { token: friend.token })).status, 404);
    const gone = await unshare(group.id, friends.id);
    assert.deepEqual([gone.status, gone.body], [404, { message: "404 Group Link Not Found" }]);
  });

  test("requires another, visible group, a valid level and a future date", async () => {
    const group = await makeGroup(app, owner);
    const hidden = await makeGroup(app, friend);
    const missing = await share(group.id, { group_id: hidden.id, group_access: 30 });
    assert.deepEqual([missing.status, missing.body], [404, { message: "404 Group Not Found" }]);
    const nothing = await share(group.id, { group_id: 4_503_599_627_370_495, group_access: 30 });
    assert.equal(nothing.text, missing.text);
    assert.equal((await share(group.id, { group_id: group.id, group_access: 30 })).status, 400);
    assert.equal((await share(group.id, { group_id: group.id, group_access: 5 })).status, 400);
    assert.equal((await share(group.id, { group_access: 30 })).status, 400);
    const other = await makeGroup(app, owner);
    const past = await share(group.id, { group_id: other.id, group_access: 10, expires_at: day(-1) });
    assert.deepEqual(past.body, { message: { expires_at: ["must be a day after today"] } });
  });

  test("can be repeated after it expired", async () => {
    const group = await makeGroup(app, owner);
    const other = await makeGroup(app, owner);
    await app.services.db.write
      .insertInto("shares")
      .values({ group_id: group.id, with_group_id: other.id, access_level: 30, expires_at: day(-5) })
      .execute();
    const seen = await app.get(`/groups/${group.id}`, { token: owner.token });
    assert.deepEqual(seen.body.shared_with_groups, []);
    const body = shaped(await share(group.id, { group_id: other.id, group_access: 20 }), 201, GroupDetail);
    assert.deepEqual(body.shared_with_groups[0].group_access_level, 20);
  });

  test("stays within the hierarchy if the top-level group requires it", async () => {
    const top = await makeGroup(app, owner, { prevent_sharing_groups_outside_hierarchy: true });
    const group = await makeGroup(app, owner, { parent_id: top.id });
    const sister = await makeGroup(app, owner, { parent_id: top.id });
    const outside = await makeGroup(app, owner);
    assert.equal((await share(group.id, { group_id: outside.id, group_access: 30 })).status, 403);
    assert.equal((await share(group.id, { group_id: sister.id, group_access: 30 })).status, 201);
  });

  test("shows only groups that the caller may see; projects shared with the group are shown", async () => {
    const group = await makeGroup(app, owner, { visibility: "public" });
    const hidden = await makeGroup(app, owner);
    await share(group.id, { group_id: hidden.id, group_access: 30 });
    const elsewhere = await makeGroup(app, friend, { visibility: "public" });
    const project = await makeProject(app, elsewhere.id, { visibility: 20 });
    await app.services.db.write
      .insertInto("shares")
      .values({ project_id: project.id, with_group_id: group.id, access_level: 30 })
      .execute();
    const anonymous = shaped(await app.get(`/groups/${group.id}`), 200, GroupDetail);
    assert.deepEqual(anonymous.shared_with_groups, []);
    assert.deepEqual(
      anonymous.shared_projects.map(({ id }: { id: number }) => id),
      [project.id],
    );
    const mine = shaped(await app.get(`/groups/${group.id}`, { token: owner.token }), 200, GroupDetail);
    assert.equal(mine.shared_with_groups.length, 1);
    await join(app, hidden.id, friend, 10);
    assert.equal((await app.get(`/groups/${group.id}`, { token: friend.token })).body.shared_with_groups.length, 1);
  });
});
