import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { VISIBILITIES } from "#access/roles.ts";
import { accepted, type IssueProject, type IssuesApp, issuesApp } from "#domains/planning/issues/test-support.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import type { TestUser } from "#test/support/app.ts";
import { countContributions } from "./jobs.ts";
import { uncountedDays } from "./rollup.ts";

describe("the calendar of a user", () => {
  let on: IssuesApp;
  before(async () => {
    on = await issuesApp(await freshDatabase());
    const { write } = on.app.services.db;
    const { rows } = await sql<{ first: string; next: string }>`
      select to_char(month - interval '1 month', 'YYYY-MM-DD') as first, to_char(month, 'YYYY-MM-DD') as next
      from date_trunc('month', now() at time zone 'UTC') month`.execute(write);
    const [{ first, next }] = rows as [{ first: string; next: string }];
    await sql`create table events_before partition of events
      for values from (${sql.lit(first)}) to (${sql.lit(next)})`.execute(write);
  });
  after(() => on.app.close());

  const count = () => {
    const { services } = on.app;
    const step = services.db.transaction as never;
    return countContributions.run({ services, step, signal: new AbortController().signal } as never);
  };
  const calendar = async (of: TestUser, by: TestUser): Promise<{ date: string; count: number }[]> =>
    on.get(`/users/${of.id}/calendar`, by);
  const sum = async (of: TestUser, by: TestUser) =>
    (await calendar(of, by)).reduce((total, day) => total + day.count, 0);
  const listed = async (of: TestUser, by: TestUser) => (await on.get(`/users/${of.id}/events?per_page=100`, by)).length;

  /** Moves what an author did to other days before today. */
  const movedBack = (author: TestUser, days: number) =>
    sql`update events set created_at = created_at - ${days} * interval '1 day' where author_id = ${author.id}`.execute(
      on.app.services.db.write,
    );

  /** Issues, comments and a push by an author, some of them for members from Planner on. */
  async function work(at: IssueProject, author: TestUser) {
    const { iid } = await on.create(at, { title: "For all" }, author);
    await on.create(at, { title: "For us", confidential: true }, author);
    for (const internal of [false, true]) {
      const payload = { body: "I see", internal };
      accepted(await on.app.post(`${at.issues}/${iid}/notes`, { token: author.token, payload }), 201);
    }
    await sql`insert into events (project_id, author_id, action, push_action, ref_type, ref)
      values (${at.id}, ${author.id}, 5, 'pushed', 'branch', 'main')`.execute(on.app.services.db.write);
  }

  test("counts for each viewer what the feed shows them, before and after the days are added up", async () => {
    const [open, closed] = [await on.publicProject(), await on.project()];
    const [author, stranger] = [await on.app.makeUser(), await on.app.makeUser()];
    const admin = await on.app.makeUser({ admin: true });
    const guest = await on.member(open, "guest");
    for (const at of [open, closed]) {
      await on.insert.member(author, { project_id: at.id }, "developer");
      await work(at, author);
    }
    const expected = [
      [author, 10],
      [admin, 10],
      [open.user, 5],
      [guest, 3],
      [stranger, 3],
    ] as const;
    const check = async (when: string) => {
      for (const [viewer, total] of expected) {
        assert.equal(await sum(author, viewer), total, when);
        assert.equal(await listed(author, viewer), total, when);
      }
    };
    await check("today");
    await movedBack(author, 2);
    await check("not added up");
    await count();
    await check("added up");
    await count();
    await check("added up twice");
    await work(open, author);
    const days = await calendar(author, author);
    assert.deepEqual(
      days.map((day) => day.count),
      [10, 5],
    );
    assert.equal(Date.parse(days[1]?.date ?? "") - Date.parse(days[0]?.date ?? ""), 2 * 86_400_000);
    const { write } = on.app.services.db;
    await write.updateTable("projects").set({ issues_access_level: "disabled" }).where("id", "=", open.id).execute();
    assert.equal(await sum(author, stranger), 2, "the pushes");
    await write.updateTable("projects").set({ visibility: VISIBILITIES.private }).where("id", "=", open.id).execute();
    assert.deepEqual(await calendar(author, stranger), []);
  });

  test("adds up each day once it is over, and forgets those of more than a year ago", async () => {
    const { write } = on.app.services.db;
    await count();
    const at = await on.publicProject();
    const author = await on.app.makeUser();
    const add = (days: number) =>
      sql`insert into contributions (author_id, day, project_id, requires, count)
        select ${author.id}, (now() at time zone 'UTC')::date - ${days}::integer, ${at.id}, 'issues', 1`.execute(write);
    await sql`delete from contributions`.execute(write);
    for (const days of [2, 365, 366, 367]) await add(days);
    assert.equal((await uncountedDays(write)).length, 1);
    assert.equal(await sum(author, at.user), 2);
    await count();
    const { rows } = await sql`select from contributions where author_id = ${author.id}`.execute(write);
    assert.equal(rows.length, 3);
  });

  test("is found by name, and empty for others if the profile is private", async () => {
    const at = await on.publicProject();
    const [author, reader] = [await on.app.makeUser(), await on.app.makeUser()];
    await on.create(at, { title: "Rope" }, author);
    assert.equal((await on.get(`/users/${author.username}/calendar`, reader))[0].count, 1);
    const { write } = on.app.services.db;
    await write.updateTable("users").set({ private_profile: true }).where("id", "=", author.id).execute();
    assert.deepEqual([await calendar(author, reader), await sum(author, author)], [[], 1]);
    assert.equal((await on.app.get(`/users/${2 ** 40}/calendar`, { token: reader.token })).status, 404);
    assert.equal((await on.app.get(`/users/${author.id}/calendar`)).status, 401);
  });
});
