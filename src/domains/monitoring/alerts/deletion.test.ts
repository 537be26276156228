import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { Database } from "#db/types.ts";
import { removeBatchOfRows } from "#domains/foundation/deletions/deletions.ts";
import { monitoringDeletions } from "#domains/monitoring/deletions.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { workUntil } from "#test/support/work.ts";
import { type AlertsApp, alertsApp } from "./test-support.ts";

describe("alerts of what is deleted", () => {
  let on: AlertsApp;
  before(async () => {
    on = await alertsApp(await freshDatabase());
  });
  after(() => on.app.close());

  const countOf = async (table: keyof Database, where: string) => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from ${sql.table(table)} where ${sql.raw(where)}`.execute(on.app.services.db.write);
    return rows[0]?.count ?? 0;
  };

  test("what a deleted user did is the ghost user's, and nothing is assigned to them", async () => {
    const at = await on.project();
    const gone = await on.member(at, "developer");
    const admin = await on.app.makeUser({ admin: true });
    const { iid } = await on.alert(at);
    await on.change(at, iid, { assignee_ids: [gone.id], status: "acknowledged" }, gone);
    assert.equal((await on.app.delete(`/users/${gone.id}`, { token: admin.token })).status, 204);
    await workUntil(on.app, "the user is gone", async () => {
      const { status } = await on.app.get(`/users/${gone.id}`, { token: admin.token });
      return status === 404 && (await countOf("alert_changes", `user_id = ${gone.id}`)) === 0;
    });
    const { assignees, timeline } = await on.get(at, `/${iid}`);
    assert.deepEqual(assignees, []);
    const [status, assigned] = timeline;
    assert.deepEqual(
      [status.user.username, assigned.user.username, assigned.assignee.username],
      ["ghost", "ghost", "ghost"],
    );
  });

  test("a deleted project takes its alerts along, more than one batch of them", async () => {
    const at = await on.project();
    const admin = await on.app.makeUser({ admin: true });
    await sql`insert into alert_counters (project_id, last_iid) values (${at.id}, 6000)`.execute(
      on.app.services.db.write,
    );
    const integration = await on.integration(at, "Watch");
    await sql`
      with reported as (
        insert into alerts (project_id, integration_id, iid, severity, started_at, title, grouped_by, payload)
        select ${at.id}, ${integration}, n, 0, now(), 'x', '{}', '{}' from generate_series(1, 6000) n returning id
      ), changed as (
        insert into alert_changes (alert_id, action, from_status, to_status)
        select id, 'recovered', 0, 2 from reported cross join generate_series(1, 2)
      ), pictured as (
        insert into alert_metric_images (alert_id, blob, filename) select id, repeat('0', 64), 'x.png' from reported
      )
      insert into alert_assignees (alert_id, user_id) select id, ${at.developer.id} from reported`.execute(
      on.app.services.db.write,
    );
    const { token } = admin;
    const { path_with_namespace: full_path } = (await on.app.get(`/projects/${at.id}`, { token })).body;
    assert.equal((await on.app.delete(`/projects/${at.id}`, { token })).status, 202);
    const payload = { permanently_remove: true, full_path };
    assert.equal((await on.app.delete(`/projects/${at.id}`, { token, payload })).status, 202);
    await workUntil(on.app, "the project is gone", async () => (await countOf("projects", `id = ${at.id}`)) === 0);
    assert.equal(await countOf("alerts", `project_id = ${at.id}`), 0);
    for (const table of ["alert_counters", "alert_integrations"] as const)
      assert.equal(await countOf(table, `project_id = ${at.id}`), 0, table);
    assert.equal(await countOf("alert_changes", "action = 'recovered'"), 0);
    assert.equal(await countOf("alert_metric_images", "filename = 'x.png'"), 0);
    assert.equal(await countOf("alert_assignees", `user_id = ${at.developer.id}`), 0);
  });

  test("no batch of a deleted project takes rows of other tables along", async () => {
    const at = await on.project();
    const { id, iid } = await on.alert(at, { integration_id: await on.integration(at, "Watch") });
    await on.change(at, iid, { assignee_ids: [at.developer.id], status: "resolved" });
    const tables = ["alerts", "alert_changes", "alert_assignees", "alert_metric_images"] as const;
    await sql`insert into alert_metric_images (alert_id, blob, filename) values (${id}, repeat('0', 64), 'x.png')`.execute(
      on.app.services.db.write,
    );
    const counts = () => Promise.all(tables.map((table) => countOf(table, "true")));
    const emptied: string[][] = [];
    for (let removed = -1; removed !== 0;) {
      const before = await counts();
      removed = await on.app.services.db.transaction((tx) =>
        removeBatchOfRows(tx, [at.id], monitoringDeletions.ofProjects, on.app.services),
      );
      const after = await counts();
      emptied.push(tables.filter((_, index) => after[index] !== before[index]));
    }
    assert.deepEqual(emptied, [["alert_changes"], ["alert_metric_images"], ["alert_assignees"], ["alerts"], []]);
  });
});
