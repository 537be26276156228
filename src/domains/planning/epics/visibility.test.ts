import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { VISIBILITIES } from "#access/roles.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { type EpicGroup, epicsOn } from "./test-support.ts";

describe("who sees epics", () => {
  let app: TestApp;
  let on: ReturnType<typeof epicsOn>;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    on = epicsOn(app);
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  /** What a caller is told about an epic that is hidden must be what they are told about a missing one. */
  async function assertHidden(group: EpicGroup, iid: number, user: TestUser | undefined) {
    const token = user?.token;
    const hidden = await app.get(`${group.epics}/${iid}`, { token });
    const missing = await app.get(`${group.epics}/${iid + 1000}`, { token });
    assert.deepEqual([hidden.status, hidden.text], [404, missing.text]);
    for (const below of ["epics", "issues"]) {
      const { status, text } = await app.get(`${group.epics}/${iid}/${below}`, { token });
      assert.deepEqual([status, text], [404, missing.text], below);
    }
    const { body } = await app.get(group.epics, { token });
    assert.ok(body.every((epic: { iid: number }) => epic.iid !== iid));
  }

  const assertSeen = async (group: EpicGroup, iid: number, user: TestUser | undefined) => {
    assert.equal((await app.get(`${group.epics}/${iid}`, { token: user?.token })).status, 200);
    const { body } = await app.get(group.epics, { token: user?.token });
    assert.ok(body.some((epic: { iid: number }) => epic.iid === iid));
  };

  test("members of a subgroup see the group above, but not its epics", async () => {
    const group = await on.epicGroup();
    const below = await on.epicGroup(group);
    const { iid } = await on.created(group);
    const { token, ...user } = await on.inRole(below, "maintainer");
    assert.equal((await app.get(`/groups/${group.id}`, { token })).status, 200);
    await assertHidden(group, iid, { token, ...user });
    assert.deepEqual((await app.get(group.epics, { token })).body, []);
    const inside = await on.created(below);
    const { body } = await app.get(`${group.epics}?include_ancestor_groups=true`, { token });
    assert.deepEqual(
      body.map((epic: { id: number }) => epic.id),
      [inside.id],
    );
  });

  test("minimal access shows no epics", async () => {
    const group = await on.epicGroup();
    const { iid } = await on.created(group);
    await assertHidden(group, iid, await on.inRole(group, "minimal"));
  });

  test("Guests see all but confidential ones, Planners all", async () => {
    const group = await on.epicGroup();
    const open = await on.created(group);
    const secret = await on.created(group, { confidential: true });
    const guest = await on.inRole(group, "guest");
    await assertSeen(group, open.iid, guest);
    await assertHidden(group, secret.iid, guest);
    for (const user of [await on.inRole(group, "planner"), await on.inRole(group, "reporter"), group.owner, admin])
      for (const { iid } of [open, secret]) await assertSeen(group, iid, user);
  });

  test("the author of a confidential epic who became a Guest does not see it", async () => {
    const group = await on.epicGroup();
    const user = await on.inRole(group, "planner");
    const { iid } = await on.created(group, { confidential: true }, user);
    await app.services.db.write
      .updateTable("members")
      .set({ access_level: 10 })
      .where("user_id", "=", user.id)
      .where("group_id", "=", group.id)
      .execute();
    await assertHidden(group, iid, user);
  });

  test("everyone sees those of a public group, except for confidential ones", async () => {
    const group = await on.epicGroup(undefined, { visibility: VISIBILITIES.public });
    const open = await on.created(group);
    const secret = await on.created(group, { confidential: true });
    for (const user of [undefined, await app.makeUser()]) {
      await assertSeen(group, open.iid, user);
      await assertHidden(group, secret.iid, user);
    }
    const { token } = await app.makeUser();
    assert.equal((await on.put(group, open.iid, { title: "x" }, { ...group.owner, token })).status, 403);
    assert.equal((await app.put(`${group.epics}/${open.iid}`, { payload: { title: "x" } })).status, 401);
  });

  test("a hidden parent is told nowhere", async () => {
    const group = await on.epicGroup();
    const below = await on.epicGroup(group);
    const parent = await on.created(group);
    const child = await on.created(below, { parent_id: parent.id });
    assert.equal(child.parent_id, parent.id);
    const user = await on.inRole(below, "owner");
    const { body, text } = await on.get(below, child.iid, user);
    assert.deepEqual([body.parent_id, body.parent_iid, body["_links"].parent], [null, null, null]);
    assert.ok(!text.includes(`"${parent.id}"`) && !text.includes(`/groups/${group.id}/`));
    const byParent = await on.list(below, `parent_id=${parent.id}`, user);
    assert.deepEqual([byParent.status, byParent.body], [200, []], "nor by asking for its children");
    const missing = await on.list(below, `parent_id=${parent.id + 100_000}`, user);
    assert.equal(byParent.text, missing.text);
    assert.equal((await on.list(below, `parent_id=${parent.id}`)).body.length, 1);
  });

  test("a hidden epic cannot be made a parent, like a missing one", async () => {
    const group = await on.epicGroup();
    const below = await on.epicGroup(group);
    const parent = await on.created(group);
    const child = await on.created(below);
    const user = await on.inRole(below, "owner");
    const hidden = await on.put(below, child.iid, { parent_id: parent.id }, user);
    const missing = await on.put(below, child.iid, { parent_id: parent.id + 100_000 }, user);
    assert.deepEqual([hidden.status, hidden.text], [404, missing.text]);
    assert.equal((await on.post(below, { parent_id: parent.id }, user)).text, missing.text);
    assert.equal((await on.get(below, child.iid)).body.parent_id, null);
  });

  test("a visible one takes a Planner of its group", async () => {
    const group = await on.epicGroup(undefined, { visibility: VISIBILITIES.public });
    const below = await on.epicGroup(group);
    const parent = await on.created(group);
    const child = await on.created(below);
    const user = await on.inRole(below, "owner");
    const { status, body } = await on.put(below, child.iid, { parent_id: parent.id }, user);
    assert.deepEqual(
      [status, body.message],
      [403, "403 Forbidden - Requires at least the Planner role in the group of the parent"],
    );
  });

  test("references are as short as the group of the request allows", async () => {
    const group = await on.epicGroup();
    const below = await on.epicGroup(group, { path: "deck" });
    await on.created(below);
    const relative = async (path: string) =>
      (await app.get(path, { token: group.owner.token })).body[0].references.relative;
    assert.equal(await relative(below.epics), "&1");
    assert.equal(await relative(group.epics), "deck&1");
  });
});
