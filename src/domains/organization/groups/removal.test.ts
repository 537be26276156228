import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { runWorker } from "#jobs/worker.ts";
import { Accepted } from "#domains/organization/namespaces/entity.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { GroupDetail } from "./entity.ts";
import { deletions } from "#domains/index.ts";
import { removeGroup, removeOverdueGroups } from "./jobs.ts";
import { join, makeGroup, makeProject, shaped } from "./test-support.ts";

describe("deleting a group", () => {
  let app: TestApp;
  let owner: TestUser;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    owner = await app.makeUser();
  });
  after(() => app.close());

  const remove = (id: number, query = "") => app.delete(`/groups/${id}${query}`, { token: owner.token });
  const restore = (id: number) => app.post(`/groups/${id}/restore`, { token: owner.token });
  const statusOf = async (id: number) => (await app.get(`/groups/${id}`, { token: owner.token })).status;

  /** Lets a worker do what waits until there is nothing left of it. */
  async function work(done: () => Promise<boolean>) {
    const worker = await runWorker(app.services, [removeGroup(deletions), removeOverdueGroups], {
      queues: ["bulk", "default"],
    });
    try {
      await until("the job is done", done);
    } finally {
      await worker.stop();
    }
  }
  const waiting = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from jobs.job where data->>'job' = 'groups.remove' and name <> 'dead'`.execute(
      app.services.db.write,
    );
    return rows[0]?.count ?? 0;
  };

  test("marks it, and it can be restored", async () => {
    const { id } = await makeGroup(app, owner);
    const today = new Date().toISOString().slice(0, 10);
    assert.deepEqual(shaped(await remove(id), 202, Accepted), { message: "202 Accepted" });
    const marked = (await app.get(`/groups/${id}`, { token: owner.token })).body.marked_for_deletion_on;
    assert.ok(marked >= today);
    assert.equal((await remove(id)).status, 400, "once is enough");
    const back = shaped(await restore(id), 201, GroupDetail);
    assert.equal(back.marked_for_deletion_on, null);
    assert.equal((await restore(id)).status, 400, "nothing to restore");
  });

  test("at once requires a marked group and its exact full path", async () => {
    const top = await makeGroup(app, owner);
    const group = await makeGroup(app, owner, { parent_id: top.id });
    const now = (path: string) => remove(group.id, `?permanently_remove=true&full_path=${encodeURIComponent(path)}`);
    assert.match((await now(group.full_path)).text, /must be marked for deletion first/);
    await remove(group.id);
    assert.match((await now(group.path)).text, /`full_path` is incorrect/);
    assert.match((await remove(group.id, "?permanently_remove=true")).text, /`full_path` is incorrect/);
    assert.equal(await waiting(), 0);
    shaped(await now(group.full_path), 202, Accepted);
    assert.equal(await waiting(), 1);
    await work(async () => (await waiting()) === 0);
    assert.equal(await statusOf(group.id), 404);
    assert.equal(await statusOf(top.id), 200);
  });

  test("removes everything in it with all its paths, and nothing else", async () => {
    const { write } = app.services.db;
    const top = await makeGroup(app, owner);
    const other = await makeGroup(app, owner);
    const sub = await makeGroup(app, owner, { parent_id: top.id });
    const leaf = await makeGroup(app, owner, { parent_id: sub.id });
    const moved = await makeGroup(app, owner, { parent_id: sub.id });
    await app.post(`/groups/${moved.id}/transfer`, { token: owner.token, payload: { group_id: other.id } });
    await app.put(`/groups/${leaf.id}`, { token: owner.token, payload: { path: `${leaf.path}-2` } });
    const kept = await makeProject(app, other.id);
    for (const { id } of [top, sub, leaf]) await makeProject(app, id);
    await sql`insert into projects (namespace_id, name, path)
      select ${leaf.id}, 'p', 'p' || i from generate_series(1, 1200) i`.execute(write);
    await sql`insert into namespaces (kind, parent_id, name, path)
      select 'group', ${sub.id}, 'g', 'g' || i from generate_series(1, 1100) i`.execute(write);
    await sql`insert into stars (project_id, user_id)
      select id, ${owner.id} from projects where namespace_id in (${leaf.id}, ${other.id})`.execute(write);
    await join(app, leaf.id, await app.makeUser(), 30);
    await sql`insert into shares (group_id, with_group_id, access_level)
      values (${other.id}, ${leaf.id}, 30), (${leaf.id}, ${other.id}, 30)`.execute(write);

    await remove(top.id);
    await remove(top.id, `?permanently_remove=true&full_path=${top.full_path}`);
    await work(async () => (await waiting()) === 0);

    const left = async (table: string) => {
      const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(write);
      return rows[0]?.count;
    };
    for (const { id } of [top, sub, leaf]) assert.equal(await statusOf(id), 404);
    assert.equal(await statusOf(moved.id), 200, "what moved away stays");
    const { rows: ownRoutes } = await sql<{ path: string }>`
      select path from routes where parent_id in (${top.id}, ${sub.id}, ${leaf.id})`.execute(write);
    assert.deepEqual(ownRoutes, []);
    const { rows: projects } = await sql<{ id: number }>`select id from projects`.execute(write);
    assert.deepEqual(projects, [{ id: kept.id }]);
    assert.equal(await left("stars"), 1);
    assert.equal(await left("shares"), 0);
    assert.equal((await makeGroup(app, owner, { path: top.path })).path, top.path, "the address is free");
  });

  test("starts when the restore period is over, and then it cannot be restored", async () => {
    const { write } = app.services.db;
    const due = await makeGroup(app, owner);
    const early = await makeGroup(app, owner);
    const restored = await makeGroup(app, owner);
    for (const { id } of [due, early, restored]) await remove(id);
    const age = (id: number, days: number) =>
      sql`update namespaces set marked_for_deletion_at = now() - make_interval(days => ${days}) where id = ${id}`.execute(
        write,
      );
    await age(due.id, 8);
    await age(early.id, 6);
    await age(restored.id, 8);
    assert.equal((await restore(restored.id)).status, 201, "late, but nothing has begun");
    await app.services.db.transaction((tx) => app.services.jobs.add(tx, removeOverdueGroups, {}));
    await work(async () => (await statusOf(due.id)) === 404 && (await waiting()) === 0);
    assert.deepEqual([await statusOf(early.id), await statusOf(restored.id)], [200, 200]);

    await sql`update namespaces set removal_began_at = now() where id = ${early.id}`.execute(write);
    const late = await restore(early.id);
    assert.deepEqual([late.status, late.body], [409, { message: "The group is being removed" }]);
  });

  test("does nothing if the group was restored or marked anew before the job began", async () => {
    const restored = await makeGroup(app, owner);
    const anew = await makeGroup(app, owner);
    for (const { id, full_path } of [restored, anew]) {
      await remove(id);
      await remove(id, `?permanently_remove=true&full_path=${full_path}`);
      assert.equal((await restore(id)).status, 201);
    }
    await remove(anew.id);
    await work(async () => (await waiting()) === 0);
    assert.deepEqual([await statusOf(restored.id), await statusOf(anew.id)], [200, 200]);
  });

  test("with no days to restore it is removed at once", async () => {
    const hasty = await testApp({ databaseUrl: await freshDatabase() });
    try {
      await hasty.services.db.write.updateTable("settings").set({ deletion_adjourned_period: 0 }).execute();
      const user = await hasty.makeUser();
      const { id } = await makeGroup(hasty, user);
      assert.equal((await hasty.delete(`/groups/${id}`, { token: user.token })).status, 202);
      const { rows } = await sql`select from jobs.job where data->>'job' = 'groups.remove'`.execute(
        hasty.services.db.write,
      );
      assert.equal(rows.length, 1);
    } finally {
      await hasty.close();
    }
  });
});
