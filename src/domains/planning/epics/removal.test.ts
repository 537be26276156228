import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { runWorker } from "#jobs/worker.ts";
import { deletions } from "#domains/index.ts";
import { removeUser } from "#domains/identity/users/jobs.ts";
import { removeGroup } from "#domains/organization/groups/jobs.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { epicsOn } from "./test-support.ts";

describe("deleting what epics belong to", () => {
  let app: TestApp;
  let on: ReturnType<typeof epicsOn>;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    on = epicsOn(app);
  });
  after(() => app.close());

  async function work(done: () => Promise<boolean>) {
    const jobs = [removeGroup(deletions), removeUser(deletions)];
    const worker = await runWorker(app.services, jobs, { queues: ["bulk", "default"] });
    try {
      await until("the job is done", done);
    } finally {
      await worker.stop();
    }
  }
  const count = async (table: string, column: string, id: number): Promise<number> => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from ${sql.table(table)} where ${sql.ref(column)} = ${id}`.execute(
      app.services.db.write,
    );
    return rows[0]?.count ?? 0;
  };

  test("a group with thousands of epics goes with all of them; epics of others only lose their parent", async () => {
    const top = await on.epicGroup();
    const group = await on.epicGroup(top);
    const below = await on.epicGroup(group);
    const parent = await on.created(group, { labels: "a" });
    const moved = await on.created(below, { parent_id: parent.id, labels: "a" });
    const { write } = app.services.db;
    await sql`insert into epics (group_id, iid, title, parent_id)
      select ${group.id}, 1000 + n, 'x', ${parent.id} from generate_series(1, 6000) n`.execute(write);
    await sql`insert into label_events (epic_id, label_id, action)
      select e.id, 1, 'add' from epics e where e.group_id = ${group.id}`.execute(write);
    const { token } = top.owner;
    assert.equal((await app.post(`/groups/${below.id}/transfer`, { token })).status, 201);
    const { body } = await app.get(`/groups/${group.id}`, { token });
    await app.delete(`/groups/${group.id}`, { token });
    const query = `permanently_remove=true&full_path=${encodeURIComponent(body.full_path)}`;
    assert.equal((await app.delete(`/groups/${group.id}?${query}`, { token })).status, 202);
    await work(async () => (await count("namespaces", "id", group.id)) === 0);
    assert.equal(await count("epics", "group_id", group.id), 0);
    assert.equal(await count("epic_counters", "group_id", group.id), 0);
    assert.equal(await count("label_events", "epic_id", parent.id), 0);
    assert.equal(await count("label_links", "epic_id", parent.id), 0);
    const left = await on.get(below, moved.iid);
    assert.deepEqual([left.status, left.body.parent_id], [200, null]);
  });

  test("the epics of a deleted user belong to the ghost user", async () => {
    const group = await on.epicGroup();
    const admin = await app.makeUser({ admin: true });
    const author = await on.inRole(group, "planner");
    const { id, iid } = await on.created(group, { labels: "a" }, author);
    await on.put(group, iid, { state_event: "close" }, author);
    assert.equal((await app.delete(`/users/${author.id}`, { token: admin.token })).status, 204);
    await work(async () => (await count("users", "id", author.id)) === 0);
    const { body } = await on.get(group, iid);
    assert.equal(body.state, "closed");
    const { rows } = await sql<{ user_type: string }>`
      select u.user_type from epics e, users u
      where e.id = ${id} and u.id in (e.author_id, e.closed_by_id, (select user_id from label_events where epic_id = e.id))`.execute(
      app.services.db.write,
    );
    assert.deepEqual(rows, [{ user_type: "ghost" }]);
    assert.equal(body.author.name, "Ghost User");
  });
});
