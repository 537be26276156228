import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { runWorker } from "#jobs/worker.ts";
import { Refusal } from "#lib/refusal.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import { GroupDetail } from "./entity.ts";
import { moveGroup } from "./jobs.ts";
import { join, makeGroup, makeProject, shaped, word } from "./test-support.ts";
import { transferGroup } from "./transfer.ts";

describe("moving a group", () => {
  let app: TestApp;
  let owner: TestUser;
  before(async () => {
    app = await testApp();
    owner = await app.makeUser();
  });
  after(() => app.close());

  const move = (id: number, group_id?: number | null, token = owner.token) =>
    app.post(`/groups/${id}/transfer`, { token, payload: group_id === undefined ? {} : { group_id } });
  const pathOf = async (id: number) => (await app.get(`/groups/${id}`, { token: owner.token })).body.full_path;

  /** Every group whose ancestors are not those of its parent. */
  async function misplaced(ids: readonly number[]) {
    const { rows } = await sql<{ id: number }>`
      select n.id from namespaces n left join namespaces p on p.id = n.parent_id
      where n.id = any(${ids}::bigint[]) and n.traversal_ids <> coalesce(p.traversal_ids, '{}') || n.id`.execute(
      app.services.db.write,
    );
    return rows.map(({ id }) => id);
  }

  test("moves everything in it, and previous paths redirect", async () => {
    const from = await makeGroup(app, owner);
    const to = await makeGroup(app, owner);
    const group = await makeGroup(app, owner, { parent_id: from.id });
    const sub = await makeGroup(app, owner, { parent_id: group.id });
    const project = await makeProject(app, sub.id);
    const body = shaped(await move(group.id, to.id), 201, GroupDetail);
    assert.deepEqual([body.parent_id, body.full_path], [to.id, `${to.path}/${group.path}`]);
    assert.equal(await pathOf(sub.id), `${to.path}/${group.path}/${sub.path}`);
    assert.deepEqual(await misplaced([from.id, to.id, group.id, sub.id]), []);

    const old = await app.get(`/groups/${encodeURIComponent(sub.full_path)}?a=1`, { token: owner.token });
    assert.deepEqual([old.status, old.headers["location"]], [301, `http://localhost/api/v4/groups/${sub.id}?a=1`]);
    const write = await app.put(`/groups/${encodeURIComponent(group.full_path)}`, { token: owner.token });
    assert.deepEqual([write.status, write.headers["location"]], [308, `http://localhost/api/v4/groups/${group.id}`]);
    const oldProject = encodeURIComponent(`${sub.full_path}/${project.path}`);
    const found = await app.get(`/projects/${oldProject}`, { token: owner.token });
    assert.deepEqual(
      [found.status, found.headers["location"]],
      [301, `http://localhost/api/v4/projects/${project.id}`],
    );

    assert.equal((await move(group.id, from.id)).status, 201, "and back");
    assert.equal(await pathOf(sub.id), sub.full_path);
    assert.equal((await app.get(`/groups/${encodeURIComponent(sub.full_path)}`, { token: owner.token })).status, 200);
  });

  test("to the top level makes the caller Owner if there is none", async () => {
    const top = await makeGroup(app, owner);
    const group = await makeGroup(app, owner, { parent_id: top.id });
    await app.services.db.write.deleteFrom("members").where("group_id", "=", group.id).execute();
    const body = shaped(await move(group.id), 201, GroupDetail);
    assert.deepEqual([body.parent_id, body.full_path], [null, group.path]);
    const members = await app.services.db.write
      .selectFrom("members")
      .select(["user_id", "access_level"])
      .where("group_id", "=", group.id)
      .execute();
    assert.deepEqual(members, [{ user_id: owner.id, access_level: 50 }]);
    assert.deepEqual(await misplaced([group.id]), []);
  });

  test("is refused into itself, to its current place and to a taken path", async () => {
    const top = await makeGroup(app, owner);
    const sub = await makeGroup(app, owner, { parent_id: top.id });
    const other = await makeGroup(app, owner);
    for (const target of [top.id, sub.id]) {
      assert.deepEqual((await move(top.id, target)).body, {
        message: "400 Bad request - A group cannot be moved into itself or a group in it",
      });
    }
    assert.deepEqual((await move(sub.id, top.id)).body, { message: "400 Bad request - The group is there already" });
    assert.equal((await move(top.id)).status, 400);
    await makeProject(app, other.id, { path: sub.path.toUpperCase() });
    const taken = await move(sub.id, other.id);
    assert.deepEqual([taken.status, taken.body], [400, { message: { path: ["has already been taken"] } }]);
    const reserved = await makeGroup(app, owner, { parent_id: top.id, path: "explore" });
    assert.deepEqual((await move(reserved.id)).body, { message: { path: ["explore is a reserved name"] } });
    assert.equal(await pathOf(sub.id), sub.full_path, "nothing moved");
  });

  test("is refused if it would be too visible or too deep, or if the target is archived or marked for deletion", async () => {
    const hidden = await makeGroup(app, owner);
    const shown = await makeGroup(app, owner, { visibility: "public" });
    const refused = await move(shown.id, hidden.id);
    assert.equal(refused.status, 400);
    assert.match(refused.body.message.visibility_level[0], /^public is not allowed since the parent group has private/);

    let deep = await makeGroup(app, owner);
    for (let level = 2; level <= 19; level++) deep = await makeGroup(app, owner, { parent_id: deep.id });
    const two = await makeGroup(app, owner);
    await makeGroup(app, owner, { parent_id: two.id });
    assert.deepEqual((await move(two.id, deep.id)).body, {
      message: { parent_id: ["is nested too deeply: there can be 20 levels of groups"] },
    });
    assert.equal((await move(hidden.id, deep.id)).status, 201, "one more level is possible");

    const marked = await makeGroup(app, owner);
    await app.delete(`/groups/${marked.id}`, { token: owner.token });
    assert.equal((await move(two.id, marked.id)).status, 403);
    const late = app.services.db.transaction((tx) =>
      transferGroup(tx, { id: two.id, parent_id: marked.id, by_id: owner.id }),
    );
    await assert.rejects(late, /marked for deletion/, "also where that came after the job was queued");
  });

  test("requires an Owner of the group who may create groups in the target", async () => {
    const group = await makeGroup(app, owner, { visibility: "public" });
    const target = await makeGroup(app, owner, { visibility: "public" });
    const hidden = await makeGroup(app, owner);
    const mover = await app.makeUser({ can_create_group: false });
    assert.equal((await move(group.id, target.id, mover.token)).status, 403);
    await join(app, group.id, mover, 50);
    assert.equal((await move(group.id, target.id, mover.token)).status, 403);
    const missing = await move(group.id, hidden.id, mover.token);
    assert.deepEqual([missing.status, missing.body], [404, { message: "404 Group Not Found" }]);
    await join(app, target.id, mover, 40);
    assert.equal((await move(group.id, target.id, mover.token)).status, 201);
    assert.equal((await move(group.id, null, mover.token)).status, 403, "not to the top");
    assert.equal((await move(group.id, null)).status, 201);
  });

  test("is done by a job for a large group", async () => {
    const group = await makeGroup(app, owner);
    const target = await makeGroup(app, owner);
    const { rows } = await sql<{ id: number }>`
      insert into namespaces (kind, parent_id, name, path)
      select 'group', ${group.id}, 'n', 'p' || i from generate_series(1, 1000) i returning id`.execute(
      app.services.db.write,
    );
    const body = shaped(await move(group.id, target.id), 202, GroupDetail);
    assert.equal(body.full_path, group.path, "not yet");
    assert.equal((await move(group.id, group.id)).status, 400, "what would fail is told at once");
    const worker = await runWorker(app.services, [moveGroup], { queues: ["bulk"] });
    try {
      await until("the group moved", async () => (await pathOf(group.id)) !== group.path);
    } finally {
      await worker.stop();
    }
    assert.equal(await pathOf(group.id), `${target.path}/${group.path}`);
    assert.deepEqual(await misplaced([group.id, ...rows.map(({ id }) => id)]), []);
  });

  test("by a job checks the requester's rights again when it runs", async () => {
    const { write } = app.services.db;
    const moved = async (change: (mover: TestUser, groupId: number, targetId: number) => Promise<unknown>) => {
      const mover = await app.makeUser();
      const group = await makeGroup(app, owner);
      const target = await makeGroup(app, owner);
      await join(app, group.id, mover, 50);
      await join(app, target.id, mover, 50);
      await change(mover, group.id, target.id);
      const running = moveGroup.run({
        ...{ id: "1", attempt: 1, services: app.services, signal: new AbortController().signal },
        payload: { id: group.id, parent_id: target.id, by_id: mover.id },
        step: (work) => app.services.db.transaction(work),
        transaction: (work) => app.services.db.transaction(work),
      });
      const outcome = await running.then(
        () => "moved",
        (error: unknown) => (error instanceof Refusal ? error.kind : String(error)),
      );
      return [outcome, (await pathOf(group.id)) !== group.path];
    };
    const leave = (id: number, user: TestUser) =>
      write.deleteFrom("members").where("group_id", "=", id).where("user_id", "=", user.id).execute();
    const lower = (id: number, user: TestUser) =>
      write.updateTable("members").set({ access_level: 30 }).where("group_id", "=", id).where("user_id", "=", user.id);
    assert.deepEqual(await moved(() => Promise.resolve()), ["moved", true]);
    const blocked = (mover: TestUser) =>
      write.updateTable("users").set({ state: "blocked" }).where("id", "=", mover.id).execute();
    assert.deepEqual(await moved(blocked), ["forbidden", false]);
    assert.deepEqual(await moved((mover, group) => leave(group, mover)), ["missing", false]);
    assert.deepEqual(await moved((mover, group) => lower(group, mover).execute()), ["forbidden", false]);
    assert.deepEqual(await moved((mover, _, target) => leave(target, mover)), ["missing", false]);
    assert.deepEqual(await moved((mover, _, target) => lower(target, mover).execute()), ["forbidden", false]);
  });

  test("and creating groups in it concurrently leaves none in the wrong place", async () => {
    const one = await makeGroup(app, owner);
    const two = await makeGroup(app, owner);
    const group = await makeGroup(app, owner, { parent_id: one.id });
    const make = () =>
      app.post("/groups", { token: owner.token, payload: { name: "n", path: word(), parent_id: group.id } });
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, turn) => [move(group.id, turn % 2 === 0 ? two.id : one.id), make(), make()]).flat(),
    );
    for (const { status, text } of answers) assert.ok([201, 400, 409].includes(status), text);
    const { rows } = await sql<{ id: number }>`select id from namespaces where parent_id = ${group.id}`.execute(
      app.services.db.write,
    );
    assert.equal(
      rows.length,
      answers.filter(({ status, body }) => status === 201 && body.parent_id === group.id).length,
    );
    assert.deepEqual(await misplaced([group.id, ...rows.map(({ id }) => id)]), []);
  });
});
