import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { jobs } from "#domains/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
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
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from issues i where i.project_id = ${place.id} and exists (
          select from label_events e where e.issue_id = i.id and e.label_id = ${id}
            and exists (select from label_links ll where ll.issue_id = i.id and ll.label_id = ${id}))`.execute(
        app.services.db.write,
      );
      assert.equal(rows[0]?.count, 0);
    }
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
      const target = kind === "project" ? place : above;
      const { rows } = await sql<{ path: string }>`
        select string_agg(path, '/') as path from (
          select path from namespaces where id = ${above.id}
          union all select path from projects where id = ${target.id} and ${kind === "project"}) parts`.execute(
        app.services.db.write,
      );
      const { token } = place.owner;
      const at = `/${kind}s/${target.id}`;
      assert.equal((await app.delete(at, { token })).status, 202);
      const query = `permanently_remove=true&full_path=${encodeURIComponent(rows[0]?.path ?? "")}`;
      const removed = await app.delete(`${at}?${query}`, { token });
      assert.equal(removed.status, 202, removed.text);
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
