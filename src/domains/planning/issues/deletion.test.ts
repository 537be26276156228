import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { workUntil } from "#test/support/work.ts";
import { type IssuesApp, issuesApp } from "./test-support.ts";

describe("issues of what is deleted", () => {
  let on: IssuesApp;
  before(async () => {
    on = await issuesApp(await freshDatabase());
  });
  after(() => on.app.close());

  type Table = "issues" | "issue_counters" | "label_links" | "label_events" | "notes" | Wish;
  type Wish = "notification_settings" | "subscriptions";
  const countOf = async (table: Table, where: string) => {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from ${sql.table(table)} where ${sql.raw(where)}`.execute(on.app.services.db.write);
    return rows[0]?.count ?? 0;
  };

  /** Says in the project of an issue how much mail somebody wants, and ends it for the issue. */
  async function wish(project: string, iid: number, { token }: TestUser) {
    const settings = { token, payload: { level: "watch" } };
    assert.equal((await on.app.put("/notification_settings", settings)).status, 200);
    assert.equal((await on.app.put(`${project}/notification_settings`, settings)).status, 200);
    assert.equal((await on.app.post(`${project}/issues/${iid}/unsubscribe`, { token })).status, 201);
  }

  test("what a deleted user wrote belongs to the ghost user, and nothing is assigned to them", async () => {
    const at = await on.publicProject();
    const gone = await on.member(at, "reporter");
    const admin = await on.app.makeUser({ admin: true });
    const { iid } = await on.create(at, { title: "Stays", labels: "kept", assignee_ids: [gone.id, at.user.id] }, gone);
    await on.put(at, iid, { state_event: "close" }, gone);
    await wish(`/projects/${at.id}`, iid, gone);
    const notes = `${at.issues}/${iid}/notes`;
    assert.equal((await on.app.post(notes, { token: gone.token, payload: { body: "So long" } })).status, 201);
    assert.equal((await on.app.delete(`/users/${gone.id}`, { token: admin.token })).status, 204);
    await workUntil(on.app, "the user is gone", async () => {
      const { status } = await on.app.get(`/users/${gone.id}`, { token: admin.token });
      return status === 404 && (await countOf("issues", `author_id = ${gone.id}`)) === 0;
    });
    const issue = await on.get(`${at.issues}/${iid}`, at.user);
    assert.deepEqual([issue.title, issue.state, issue.labels], ["Stays", "closed", ["kept"]]);
    assert.deepEqual([issue.author.username, issue.closed_by.username], ["ghost", "ghost"]);
    assert.deepEqual(
      issue.assignees.map(({ id }: { id: number }) => id),
      [at.user.id],
    );
    for (const table of ["label_events", "notification_settings", "subscriptions"] as const) {
      assert.equal(await countOf(table, `user_id = ${gone.id}`), 0, table);
    }
    const [note] = await on.get(`${notes}?activity_filter=only_comments`, at.user);
    assert.deepEqual([note.body, note.author.username], ["So long", "ghost"]);
  });

  test("a deleted project takes its issues along, more than one batch of them", async () => {
    const at = await on.project("owner");
    const { id, iid } = await on.create(at, { labels: "a", assignee_ids: [at.user.id] });
    await wish(`/projects/${at.id}`, iid, at.user);
    await sql`insert into issues (project_id, iid, title) select ${at.id}, n, 'x' from generate_series(10, 6000) n`.execute(
      on.app.services.db.write,
    );
    await sql`insert into notes (issue_id, body) select ${id}, 'x' from generate_series(1, 6000)`.execute(
      on.app.services.db.write,
    );
    const { token } = at.user;
    const { path_with_namespace } = await on.get(`/projects/${at.id}`, at.user);
    assert.equal((await on.app.delete(`/projects/${at.id}`, { token })).status, 202);
    const query = `permanently_remove=true&full_path=${encodeURIComponent(path_with_namespace)}`;
    assert.equal((await on.app.delete(`/projects/${at.id}?${query}`, { token })).status, 202);
    await workUntil(on.app, "the project is gone", async () => {
      const { status } = await on.app.get(`/projects/${at.id}`, { token });
      return status === 404;
    });
    assert.equal(await countOf("issues", `project_id = ${at.id}`), 0);
    assert.equal(await countOf("issue_counters", `project_id = ${at.id}`), 0);
    assert.equal(await countOf("notification_settings", `project_id = ${at.id}`), 0);
    for (const table of ["label_links", "label_events", "notes", "subscriptions"] as const) {
      assert.equal(await countOf(table, `issue_id = ${id}`), 0, table);
    }
    assert.equal(await countOf("notification_settings", `user_id = ${at.user.id}`), 1);
  });
});
