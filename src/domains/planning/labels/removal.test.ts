import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ISSUE } from "#domains/planning/issues/kind.ts";
import { sql } from "kysely";
import { jobs } from "#domains/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { changeLabels, labelsByName } from "./of-items.ts";
import { until } from "#test/support/until.ts";
import { removeLabelLinks } from "./jobs.ts";
import { labelsOn } from "./test-support.ts";

describe("deleting a label", () => {
  let app: TestApp;
  let on: ReturnType<typeof labelsOn>;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    on = labelsOn(app);
  });
  after(() => app.close());

  const rowsOf = async (table: "labels" | "label_links" | "label_events" | "label_priorities", labelId: number) => {
    const column = sql.ref(table === "labels" ? "id" : "label_id");
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from ${sql.table(table)} where ${column} = ${labelId}`.execute(app.services.db.write);
    return rows[0]?.count;
  };

  test("takes it from every issue at once; a job removes its links and events stay", async () => {
    const { place } = await on.nested();
    const label = await on.created(place, { priority: 1 });
    const issue = await on.issue(place, { labels: "bug,other" });
    await sql`
      with others as (
        insert into issues (project_id, iid, title) select ${place.id}, n, 'x' from generate_series(100, 6099) n returning id
      ) insert into label_links (label_id, issue_id) select ${label.id}, id from others`.execute(app.services.db.write);
    assert.equal((await on.delete(place, label.id)).status, 204);
    const { body } = await app.get(`/projects/${place.id}/issues/${issue.iid}`, { token: place.owner.token });
    assert.deepEqual(body.labels, ["other"], "before the job has run");
    assert.equal(await rowsOf("label_links", label.id), 6001);
    await on.work([removeLabelLinks], "no link is left", async () => (await on.linksOf(label.id)) === 0);
    assert.equal(await rowsOf("label_events", label.id), 1);
    assert.equal(await rowsOf("label_priorities", label.id), 0);
    const again = await on.created(place);
    assert.notEqual(again.id, label.id, "its name is free");
  });

  /** How many links there are to labels that do not exist. */
  const orphans = async (projectId: number) => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from label_links ll join issues i on i.id = ll.issue_id
      where i.project_id = ${projectId} and not exists (select from labels l where l.id = ll.label_id)`.execute(
      app.services.db.write,
    );
    return rows[0]?.count;
  };

  test("while others add it to issues leaves no link behind", async () => {
    const { place } = await on.nested();
    for (let round = 0; round < 5; round += 1) {
      const { id } = await on.created(place, { name: `round ${round}` });
      const [removed] = await Promise.all([
        on.delete(place, id),
        ...Array.from({ length: 10 }, () => on.issue(place, { labels: `round ${round}` })),
      ]);
      assert.equal(removed.status, 204);
      await on.work([removeLabelLinks], "no link is left", async () => (await on.linksOf(id)) === 0);
    }
    assert.equal(await orphans(place.id), 0);
  });

  test("waits for a transaction that adds it to an issue", async () => {
    const { place } = await on.nested();
    const { id } = await on.created(place);
    const issue = await on.issue(place);
    let isDeleted = false;
    const { deletion } = await app.services.db.transaction(async (tx) => {
      const found = await labelsByName(tx, { project_id: place.id, traversal_ids: [] }, ["bug"], false);
      const started = on.delete(place, id).then((reply) => {
        isDeleted = true;
        return reply;
      });
      await until("the deletion waits or is done", async () => isDeleted || (await on.isWaiting()));
      assert.equal(isDeleted, false);
      const add = found.map((label) => label.id);
      await changeLabels(tx, place.owner.id, { kind: ISSUE, id: issue.id }, { add });
      return { deletion: started };
    });
    assert.equal((await deletion).status, 204);
    await on.work([removeLabelLinks], "no link is left", async () => (await on.linksOf(id)) === 0);
    assert.equal(await rowsOf("label_events", id), 1);
  });

  test("of a project or group deletes its labels with their links", async () => {
    for (const kind of ["project", "group"] as const) {
      const { place, above } = await on.nested();
      const label = await on.created(kind === "project" ? place : above, { name: "goes" });
      const { place: other } = await on.nested();
      const issue = await on.issue(place, { labels: "goes" });
      const moved = await on.issue(other);
      // As if its project had been moved out of the group.
      await sql`insert into label_links (label_id, issue_id) values (${label.id}, ${moved.id})`.execute(
        app.services.db.write,
      );
      await on.deletePermanently(kind === "project" ? place : above);
      await on.work(jobs, "the label is gone", async () => (await rowsOf("labels", label.id)) === 0);
      assert.equal(await rowsOf("label_links", label.id), 0, kind);
      assert.equal(await rowsOf("label_events", label.id), 0, kind);
      const { rows: issues } = await sql`select id from issues where id in (${issue.id}, ${moved.id})`.execute(
        app.services.db.write,
      );
      assert.equal(issues.length, 1, "only the issue of another project stays");
    }
  });

  test("is independent of the user who created it", async () => {
    const { place } = await on.nested();
    const admin = await app.makeUser({ admin: true });
    const planner = await on.inRole(place, "planner");
    const { body } = await on.post(place, { name: "stays" }, planner);
    const issue = await app.post(`/projects/${place.id}/issues`, {
      token: planner.token,
      payload: { title: "Leak", labels: "stays" },
    });
    assert.equal((await app.delete(`/users/${planner.id}`, { token: admin.token })).status, 204);
    await on.work(jobs, "the user is gone", async () => {
      const { rows } = await sql`select id from users where id = ${planner.id}`.execute(app.services.db.write);
      return rows.length === 0;
    });
    assert.equal((await on.get(place, "stays")).body.id, body.id);
    assert.equal(await on.linksOf(body.id), 1);
    const { rows } = await sql<{ user_type: string }>`
      select u.user_type from label_events e join users u on u.id = e.user_id
      where e.issue_id = ${issue.body.id}`.execute(app.services.db.write);
    assert.deepEqual(rows, [{ user_type: "ghost" }]);
  });
});
