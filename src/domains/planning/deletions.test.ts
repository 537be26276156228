import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { removeBatchOfRows } from "#domains/foundation/deletions/deletions.ts";
import { rowInserter } from "#domains/organization/members/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { workUntil } from "#test/support/work.ts";
import { planningDeletions } from "./deletions.ts";

const TABLES = [
  ...(["issues", "issue_assignees", "issue_links", "issue_counters", "epics", "epic_links", "epic_issues"] as const),
  ...(["epic_counters", "labels", "label_links", "label_events", "label_priorities", "milestones", "notes"] as const),
  ...(["project_milestone_counters", "group_milestone_counters", "award_emoji", "todos"] as const),
  ...(["subscriptions", "notification_settings"] as const),
];

describe("deleting what has everything of planning", () => {
  let app: TestApp;
  let insert: ReturnType<typeof rowInserter>;
  let admin: TestUser;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    insert = rowInserter(app);
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const db = () => app.services.db.write;

  async function counts(): Promise<Record<string, number>> {
    const { rows } = await sql<{ name: string; count: number }>`${sql.join(
      TABLES.map((table) => sql`select ${sql.lit(table)} as name, count(*) as count from ${sql.table(table)}`),
      sql` union all `,
    )}`.execute(db());
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
  }

  async function send(method: "POST" | "PUT", path: string, { token }: TestUser, payload: object) {
    const { status, body, text } = await app.call(method, path, { token, payload });
    assert.ok(status === 200 || status === 201, `${method} ${path} ${status} ${text}`);
    return body;
  }

  interface Place {
    readonly group: number;
    readonly project: number;
  }

  async function place(...owners: readonly TestUser[]): Promise<Place> {
    const group = await insert.group();
    const project = await insert.project(group);
    for (const owner of owners) await insert.member(owner, { group_id: group }, "owner");
    return { group, project };
  }

  /** What somebody writes on an item; the other person is mentioned and gives emoji. */
  async function discuss(item: string, awards: string, author: TestUser, other: TestUser) {
    const note = await send("POST", `${item}/notes`, author, { body: `Dear @${other.username}` });
    const begun = await send("POST", `${item}/discussions`, author, { body: "What now?" });
    await send("POST", `${item}/discussions/${begun.id}/notes`, other, { body: "Wait." });
    await send("POST", `${item}/notes/${note.id}/award_emoji`, other, { name: "tada" });
    await send("POST", `${awards}/award_emoji`, other, { name: "thumbsup" });
    await send("POST", `${awards}/todo`, other, {});
    await send("POST", `${awards}/unsubscribe`, other, {});
  }

  /** Fills a project and its group with a row of every table, and links both to another place. */
  async function fill({ group, project }: Place, author: TestUser, other: TestUser, elsewhere: Place) {
    const [issues, epics] = [`/projects/${project}/issues`, `/groups/${group}/epics`];
    await send("POST", `/projects/${project}/labels`, author, { name: "own", color: "red", priority: 1 });
    await send("POST", `/groups/${group}/labels`, author, { name: "shared", color: "red" });
    await send("PUT", `/projects/${project}/labels/own`, author, { description: "x" });
    for (const path of [`/projects/${project}`, `/groups/${group}`])
      await send("PUT", `${path}/notification_settings`, other, { level: "watch" });
    const milestone = await send("POST", `/projects/${project}/milestones`, author, { title: "v1" });
    await send("POST", `/groups/${group}/milestones`, author, { title: "year" });
    const issue = await send("POST", issues, author, {
      ...{ title: "Leak", labels: "own,shared", milestone_id: milestone.id },
      ...{ assignee_ids: [author.id, other.id], description: `@${other.username}` },
    });
    await discuss(`${issues}/${issue.iid}`, `${issues}/${issue.iid}`, author, other);
    await send("PUT", `${issues}/${issue.iid}`, author, { state_event: "close", remove_labels: "own" });
    const epic = await send("POST", epics, author, { title: "Voyage", labels: "shared" });
    await discuss(`${epics}/${epic.id}`, `${epics}/${epic.iid}`, author, other);
    await send("POST", `${epics}/${epic.iid}/issues/${issue.id}`, author, {});
    await send("PUT", `${epics}/${epic.iid}`, author, { state_event: "close" });
    const there = await send("POST", `/projects/${elsewhere.project}/issues`, author, { title: "There" });
    const goal = await send("POST", `/groups/${elsewhere.group}/epics`, author, { title: "Goal" });
    const issueEnd = { target_project_id: elsewhere.project, target_issue_iid: there.iid, link_type: "blocks" };
    await send("POST", `${issues}/${issue.iid}/links`, author, issueEnd);
    const epicEnd = { target_group_id: elsewhere.group, target_epic_iid: goal.iid, link_type: "is_blocked_by" };
    await send("POST", `${epics}/${epic.iid}/related_epics`, author, epicEnd);
    return { issue: `${issues}/${issue.iid}`, epic: `${epics}/${epic.iid}`, epicById: `${epics}/${epic.id}`, there };
  }

  test("nothing is left of a deleted group with its projects, and what it was linked to stays", async () => {
    const [owner, other] = [await app.makeUser(), await app.makeUser()];
    const elsewhere = await place(owner);
    const empty = await counts();
    const doomed = await place(owner, other);
    const { there } = await fill(doomed, owner, other, elsewhere);
    const filled = await counts();
    assert.deepEqual(
      TABLES.filter((table) => filled[table] === empty[table]),
      [],
      "every table has rows of it",
    );
    const { token } = owner;
    const { body } = await app.get(`/groups/${doomed.group}`, { token });
    assert.equal((await app.delete(`/groups/${doomed.group}`, { token })).status, 202);
    const query = `permanently_remove=true&full_path=${encodeURIComponent(body.full_path)}`;
    assert.equal((await app.delete(`/groups/${doomed.group}?${query}`, { token })).status, 202);
    await workUntil(app, "the group is gone", async () => {
      const { rows } = await sql`select from namespaces where id = ${doomed.group}`.execute(db());
      return rows.length === 0;
    });
    // The issue and the epic of the other place, and their counters, are all that is more than before.
    const kept = { issues: 1, epics: 1, issue_counters: 1, epic_counters: 1 };
    const left = Object.entries(await counts()).map(([table, count]) => [table, count - (empty[table] ?? 0)] as const);
    assert.deepEqual(Object.fromEntries(left.filter(([, count]) => count !== 0)), kept);
    const path = `/projects/${elsewhere.project}/issues/${there.iid}`;
    assert.deepEqual((await app.get(`${path}/links`, { token })).body, []);
    assert.deepEqual((await app.get(`${path}/notes`, { token })).body, [], "nor notes that name what is gone");
  });

  test("what a deleted user wrote stays as the ghost user's; what was theirs alone goes", async () => {
    const [gone, stays] = [await app.makeUser(), await app.makeUser()];
    const [at, elsewhere] = [await place(stays), await place(stays)];
    for (const group_id of [at.group, elsewhere.group]) await insert.member(gone, { group_id }, "planner");
    const { issue, epic, epicById } = await fill(at, gone, stays, elsewhere);
    await send("POST", `${issue}/award_emoji`, gone, { name: "thumbsup" });
    await send("POST", `${issue}/todo`, gone, {});
    const { token } = stays;
    const read = async () => ({
      ...{ issue: (await app.get(issue, { token })).body, epic: (await app.get(epic, { token })).body },
      notes: (await app.get(`${issue}/notes?per_page=100`, { token })).body,
      ofEpic: (await app.get(`${epicById}/notes?per_page=100`, { token })).body,
      ...{
        links: (await app.get(`${issue}/links`, { token })).body,
        todos: (await app.get("/todos?state=done", { token })).body,
      },
    });
    const before = await read();
    assert.equal((await app.delete(`/users/${gone.id}`, { token: admin.token })).status, 204);
    await workUntil(app, "the user is gone", async () => {
      const { rows } = await sql`select from users where id = ${gone.id}`.execute(db());
      return rows.length === 0;
    });
    const now = await read();
    assert.deepEqual([now.issue.author.username, now.issue.closed_by.username], ["ghost", "ghost"]);
    assert.equal(now.epic.author.username, "ghost");
    for (const list of ["notes", "ofEpic", "links", "todos"] as const) {
      assert.ok(before[list].length > 0, list);
      assert.deepEqual(
        now[list].map(({ id }: { id: number }) => id),
        before[list].map(({ id }: { id: number }) => id),
        list,
      );
    }
    const people = (rows: { author: { username: string } }[]) => new Set(rows.map(({ author }) => author.username));
    assert.deepEqual(people(now.notes), new Set(["ghost", stays.username]));
    assert.deepEqual(people(now.ofEpic), new Set(["ghost", stays.username]));
    assert.ok(people(now.todos).has("ghost"));
    assert.equal(now.issue.upvotes, before.issue.upvotes - 1);
    assert.deepEqual(
      now.issue.assignees.map(({ id }: { id: number }) => id),
      [stays.id],
    );
    const events = (await app.get(`${issue}/resource_label_events`, { token })).body;
    assert.deepEqual(
      new Set(events.map(({ user }: { user: { username: string } }) => user.username)),
      new Set(["ghost"]),
    );
  });

  for (const kind of ["project", "group"] as const) {
    test(`no batch of a deleted ${kind} takes rows of other tables along`, async () => {
      const [owner, other] = [await app.makeUser(), await app.makeUser()];
      const at = await place(owner, other);
      await fill(at, owner, other, await place(owner));
      const batches = kind === "project" ? planningDeletions.ofProjects : planningDeletions.ofGroups;
      for (let removed = -1; removed !== 0;) {
        const before = await counts();
        removed = await app.services.db.transaction((tx) => removeBatchOfRows(tx, [at[kind]], batches, app.services));
        const after = await counts();
        const changed = TABLES.filter((table) => after[table] !== before[table]);
        assert.ok(changed.length <= 1, `one batch removed from ${changed.join(" and ")}`);
      }
    });
  }
});
