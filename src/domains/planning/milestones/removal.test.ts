import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { jobs } from "#domains/index.ts";
import { namedMilestone } from "./of-items.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { clearMilestone, mergeMilestones } from "./jobs.ts";
import { milestonesOn } from "./test-support.ts";

describe("deleting and promoting milestones", () => {
  let app: TestApp;
  let on: ReturnType<typeof milestonesOn>;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    on = milestonesOn(app);
  });
  after(() => app.close());

  const count = async (table: "issues" | "milestones", condition: ReturnType<typeof sql>) => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from ${sql.table(table)} where ${condition}`.execute(app.services.db.write);
    return rows[0]?.count ?? 0;
  };
  const issuesOf = (id: number) => count("issues", sql`milestone_id = ${id}`);
  const isGone = (id: number) => async () => (await count("milestones", sql`id = ${id}`)) === 0;

  test("a deleted one counts no more at once; a job takes it from its issues in steps", async () => {
    const { place } = await on.nested();
    const { id } = await on.created(place);
    const { iid } = await on.issue(place, { milestone_id: id });
    await sql`insert into issues (project_id, iid, title, milestone_id)
      select ${place.id}, n, 'x', ${id}::bigint from generate_series(100, 2599) n`.execute(app.services.db.write);
    const { updated_at } = await on.issueAt(place, iid);
    assert.equal((await on.delete(place, id)).status, 204);
    assert.equal((await on.issueAt(place, iid)).milestone, null, "before the job has run");
    const { body } = await app.get(`/projects/${place.id}/issues_statistics?milestone=None`, {
      token: place.owner.token,
    });
    assert.equal(body.statistics.counts.all, 2501);
    assert.equal(await issuesOf(id), 2501);
    await on.work([clearMilestone], "no issue has it", async () => (await issuesOf(id)) === 0);
    assert.equal((await on.issueAt(place, iid)).updated_at, updated_at);
  });

  test("while others give it to issues leaves none behind", async () => {
    const { place } = await on.nested();
    for (let round = 0; round < 5; round += 1) {
      const { id } = await on.created(place, { title: `round ${round}` });
      const { iid } = await on.issue(place);
      const payload = { milestone_id: id };
      const { token } = place.owner;
      await Promise.all([
        app.put(`/projects/${place.id}/issues/${iid}`, { token, payload }),
        app.post(`/projects/${place.id}/issues`, { token, payload: { ...payload, title: "new" } }),
        on.delete(place, id),
      ]);
      await on.work([clearMilestone], "no issue has it", async () => (await issuesOf(id)) === 0);
    }
  });

  test("waits for a transaction that gives it to an issue", async () => {
    const { place } = await on.nested();
    const { id } = await on.created(place);
    const issue = await on.issue(place);
    let isDeleted = false;
    const { deletion } = await app.services.db.transaction(async (tx) => {
      const project = { id: place.id, traversal_ids: [] };
      const found = await namedMilestone({ tx, project, ignored: assert.fail }, id);
      const started = on.delete(place, id).then((reply) => {
        isDeleted = true;
        return reply;
      });
      await until("the deletion waits or is done", async () => isDeleted || (await on.isWaiting()));
      assert.equal(isDeleted, false);
      await sql`update issues set milestone_id = ${found?.id} where id = ${issue.id}`.execute(tx);
      return { deletion: started };
    });
    assert.equal((await deletion).status, 204);
    await on.work([clearMilestone], "no issue has it", async () => (await issuesOf(id)) === 0);
  });

  test("a promoted one becomes one of the group, with its issues and a number there", async () => {
    const { place, above } = await on.nested();
    await on.created(above, { title: "first" });
    await on.created(place, { title: "other" });
    const made = await on.created(place, { due_date: "2031-01-01" });
    const { iid } = await on.issue(place, { milestone_id: made.id });
    const { status, body } = await on.promote(place, made.id);
    const { project_id: _, updated_at: __, web_url: ___, ...kept } = made;
    assert.equal(status, 200);
    assert.deepEqual(body, { ...kept, group_id: above.id, iid: 2, updated_at: body.updated_at, web_url: body.web_url });
    assert.match(body.web_url, /\/groups\/[^/]+\/-\/milestones\/2$/);
    assert.deepEqual((await on.issueAt(place, iid)).milestone, body);
    assert.equal((await on.promote(place, made.id)).status, 404, "it is none of the project any more");
  });

  test("those of the same title in and below the group are merged into it", async () => {
    const { place, above, owner } = await on.nested();
    const sibling = on.placeAt("project", await on.project(above.id), owner);
    const below = on.placeAt("project", await on.project(await on.group(above.id)), owner);
    const { place: elsewhere } = await on.nested();
    const [promoted, second, third, other] = [
      await on.created(place),
      await on.created(sibling),
      await on.created(below),
      await on.created(elsewhere),
    ];
    const inSibling = await on.issue(sibling, { milestone_id: second.id });
    const inBelow = await on.issue(below, { milestone_id: third.id });
    assert.equal((await on.promote(place, promoted.id)).status, 200);
    await on.work([mergeMilestones], "the second is merged", isGone(second.id));
    await on.work([mergeMilestones], "the third is merged", isGone(third.id));
    assert.equal((await on.issueAt(sibling, inSibling.iid)).milestone.id, promoted.id);
    assert.equal((await on.issueAt(below, inBelow.iid)).milestone.id, promoted.id);
    assert.equal((await on.get(elsewhere, other.id)).status, 200, "another group's are not touched");
  });

  test("joins the one of this title that the group has", async () => {
    const { place, above } = await on.nested();
    const own = await on.created(place);
    const ofGroup = await on.created(above);
    const { iid } = await on.issue(place, { milestone_id: own.id });
    const { body } = await on.promote(place, own.id);
    assert.equal(body.id, ofGroup.id);
    await on.work([mergeMilestones], "it is merged", isGone(own.id));
    assert.equal((await on.issueAt(place, iid)).milestone.id, ofGroup.id);
  });

  test("promoting takes a Planner of the group, and a group", async () => {
    const { place } = await on.nested();
    const { id } = await on.created(place);
    assert.equal((await on.promote(place, id, await on.inRole(place, "owner"))).status, 403);
    const user = await app.makeUser();
    const project = await app.post("/projects", { token: user.token, payload: { name: "Alone" } });
    const alone = on.placeAt("project", project.body.id, user);
    const own = await on.created(alone);
    const { status, text } = await on.promote(alone, own.id);
    assert.deepEqual([status, text], [400, '{"message":"400 Bad request - The project is in no group"}']);
  });

  test("a deleted group takes its milestones along, also from issues of projects that were moved away", async () => {
    const { place, above, owner } = await on.nested();
    const { id } = await on.created(above);
    const own = await on.created(place, { title: "own" });
    const { iid } = await on.issue(place, { milestone_id: id });
    await on.issue(place, { milestone_id: own.id });
    const away = await on.group();
    await on.member(owner, { group_id: away }, "owner");
    const db = app.services.db.write;
    await db.updateTable("projects").set({ namespace_id: away }).where("id", "=", place.id).execute();
    await on.deletePermanently(above);
    await on.work(jobs, "the milestone is gone", isGone(id));
    assert.equal(await issuesOf(id), 0);
    assert.equal((await on.issueAt(place, iid)).milestone, null);
    await on.deletePermanently(place);
    await on.work(jobs, "the milestone of the project is gone", isGone(own.id));
  });
});
