import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { TestUser } from "#test/support/app.ts";
import { accepted, type IssueProject, type IssuesApp, issuesApp } from "./test-support.ts";

interface Note {
  readonly body: string;
  readonly system: boolean;
  readonly internal: boolean;
  readonly created_at: string;
  readonly author: { readonly username: string };
}

describe("moving issues", () => {
  let on: IssuesApp;
  before(async () => {
    on = await issuesApp();
  });
  after(() => on.app.close());

  const move = ({ issues }: IssueProject, iid: number, to: number, { token }: TestUser) =>
    on.app.post(`${issues}/${iid}/move`, { token, payload: { to_project_id: to } });

  /** Two private projects with one Planner of both. */
  async function two() {
    const from = await on.project();
    const to = await on.project();
    await on.insert.member(from.user, { project_id: to.id }, "reporter");
    return { from, to, user: from.user };
  }

  test("the new issue has the text, dates, assignees and labels that its project knows", async () => {
    const { from, to, user } = await two();
    const author = await on.member(from, "guest");
    const { iid } = await on.create(from, { title: "Wanderer", description: "text", confidential: true }, author);
    const outsider = await on.member(from, "reporter");
    const change = {
      ...{ labels: "kept,left", assignee_ids: [user.id, outsider.id], due_date: "2030-05-05", weight: 4 },
    };
    accepted(await on.put(from, iid, change, user), 200);
    await on.create(to, { labels: "kept" });
    const made = accepted(await move(from, iid, to.id, user), 201);
    assert.deepEqual([made.project_id, made.iid, made.state], [to.id, 2, "opened"]);
    assert.deepEqual([made.title, made.description, made.confidential], ["Wanderer", "text", true]);
    assert.deepEqual([made.due_date, made.weight, made.author.id], ["2030-05-05", 4, author.id]);
    assert.deepEqual(made.labels, ["kept"]);
    assert.deepEqual(
      made.assignees.map(({ id }: { id: number }) => id),
      [user.id],
    );
    const labels = await on.app.services.db.write
      .selectFrom("labels")
      .select("name")
      .where("project_id", "=", to.id)
      .execute();
    assert.deepEqual(labels, [{ name: "kept" }]);
    const events = await on.app.services.db.write
      .selectFrom("label_events")
      .select(["action", "user_id"])
      .where("issue_id", "=", made.id)
      .execute();
    assert.deepEqual(events, [{ action: "add", user_id: user.id }]);
    const old = await on.get(`${from.issues}/${iid}`, user);
    assert.deepEqual([old.state, old.moved_to_id, old.closed_by.id], ["closed", made.id, user.id]);
    assert.deepEqual(old.labels, ["kept", "left"]);
    // The author may not see the other project, and so does not learn the id of the new issue.
    assert.equal((await on.get(`${from.issues}/${iid}`, author)).moved_to_id, null);
    const again = await move(from, iid, to.id, user);
    assert.equal(again.status, 400);
    assert.match(again.text, /already been moved/);
  });

  test("the new issue has copies of the comments, in their discussions; system notes stay behind", async () => {
    const { from, to, user } = await two();
    const author = await on.member(from, "guest");
    const { iid } = await on.create(from);
    const old = `${from.issues}/${iid}`;
    const send = async (path: string, payload: object, { token } = user) =>
      accepted(await on.app.post(`${old}${path}`, { token, payload }), 201);
    await send("/notes", { body: "First" }, author);
    const { id } = await send("/discussions", { body: "Which way?" });
    await send("/notes", { body: "Quietly", internal: true });
    await send(`/discussions/${id}/notes`, { body: "West" }, author);
    accepted(await on.put(from, iid, { state_event: "close" }, user), 200);
    const moved = accepted(await move(from, iid, to.id, user), 201);
    assert.equal(moved.user_notes_count, 4);
    const told = ({ notes, individual_note }: { notes: Note[]; individual_note: boolean }) => [
      ...notes.map((note) => `${note.author.username}: ${note.body}${note.internal ? " (internal)" : ""}`),
      ...(individual_note ? [] : ["in a discussion"]),
    ];
    const comments = async (path: string) =>
      (await on.get(`${path}/discussions`, user)).filter(({ notes: [note] }: { notes: Note[] }) => !note?.system);
    const [before, now] = [await comments(old), await comments(`${to.issues}/${moved.iid}`)];
    assert.deepEqual(now.map(told), [
      [`${author.username}: First`],
      [`${user.username}: Which way?`, `${author.username}: West`, "in a discussion"],
      [`${user.username}: Quietly (internal)`],
    ]);
    assert.deepEqual(now.map(told), before.map(told));
    const times = (found: { notes: Note[] }[]) => found.flatMap(({ notes }) => notes.map((note) => note.created_at));
    assert.deepEqual(times(now), times(before));
    assert.ok(now.every(({ id: copy }: { id: string }) => before.every((one: { id: string }) => one.id !== copy)));
    const records = await on.get(`${to.issues}/${moved.iid}/notes?activity_filter=only_activity`, user);
    assert.equal(records.length, 1, "where it was moved from");
  });

  test("no more comments are copied than fit into one answer", async () => {
    const { from, to, user } = await two();
    const { id, iid } = await on.create(from);
    await sql`insert into notes (issue_id, body) select ${id}, repeat('x', 1048576) from generate_series(1, 9)`.execute(
      on.app.services.db.write,
    );
    assert.equal(accepted(await move(from, iid, to.id, user), 201).user_notes_count, 8);
  });

  test("both projects must be managed, and the target must be another one that takes issues", async () => {
    const { from, to, user } = await two();
    const { iid } = await on.create(from);
    const status = async (target: number, by = user) => (await move(from, iid, target, by)).status;
    assert.equal(await status(from.id), 400);
    assert.equal(await status(4503599627370495), 404);
    const hidden = await on.project();
    assert.equal(await status(hidden.id), 404);
    const visible = await on.publicProject();
    assert.equal(await status(visible.id), 403);
    const guest = await on.member(from, "guest");
    await on.insert.member(guest, { project_id: to.id }, "planner");
    assert.equal(await status(to.id, guest), 403);
    const change = async (columns: object) =>
      on.app.services.db.write.updateTable("projects").set(columns).where("id", "=", to.id).execute();
    await change({ archived: true });
    assert.equal(await status(to.id), 403);
    await change({ archived: false, issues_access_level: "disabled" });
    assert.equal(await status(to.id), 403);
    await change({ issues_access_level: "enabled" });
    assert.equal(await status(to.id), 201);
  });

  test("issues that are moved in both directions at once do not wait for each other", async () => {
    const { from, to, user } = await two();
    const count = 10;
    for (let n = 0; n < count; n++) {
      await on.create(from);
      await on.create(to, {}, user);
    }
    const replies = await Promise.all(
      Array.from({ length: count }, (_, n) => [move(from, n + 1, to.id, user), move(to, n + 1, from.id, user)]).flat(),
    );
    for (const reply of replies) accepted(reply, 201);
    for (const { issues } of [from, to]) {
      const listed = await on.get(`${issues}?per_page=100`, user);
      const iids = listed.map(({ iid }: { iid: number }) => iid).toSorted((a: number, b: number) => a - b);
      assert.deepEqual(
        iids,
        Array.from({ length: 2 * count }, (_, n) => n + 1),
      );
    }
  });
});

describe("placing issues", () => {
  let on: IssuesApp;
  before(async () => {
    on = await issuesApp();
  });
  after(() => on.app.close());

  test("an issue is placed after, before and between others, as often as people like", async () => {
    const at = await on.project();
    const ids = new Map<string, number>();
    for (const title of ["a", "b", "c", "d"]) ids.set(title, (await on.create(at, { title })).id);
    const place = async (iid: number, payload: Record<string, string>) => {
      const named = Object.entries(payload).map(([name, title]) => [name, ids.get(title)]);
      const { token } = at.user;
      const reply = await on.app.put(`${at.issues}/${iid}/reorder`, { token, payload: Object.fromEntries(named) });
      accepted(reply, 200);
      return (await on.titles(`${at.issues}?order_by=relative_position&sort=asc`, at.user)).join("");
    };
    assert.equal(await place(1, { move_after_id: "c" }), "bcad");
    assert.equal(await place(4, { move_before_id: "b" }), "dbca");
    assert.equal(await place(1, { move_after_id: "d", move_before_id: "b" }), "dabc");
    // Halving the room between two neighbours uses it up several times.
    for (let n = 0; n < 30; n++) {
      assert.equal(await place(1, { move_after_id: "d", move_before_id: "b" }), "dabc");
      assert.equal(await place(3, { move_after_id: "d", move_before_id: "a" }), "dcab");
      assert.equal(await place(3, { move_after_id: "b" }), "dabc");
      assert.equal(await place(2, { move_after_id: "d", move_before_id: "a" }), "dbac");
      assert.equal(await place(2, { move_after_id: "a" }), "dabc");
    }
  });

  test("it takes the role, and a neighbour that the caller sees", async () => {
    const at = await on.publicProject();
    const { iid, id } = await on.create(at);
    const second = await on.create(at);
    const { token } = await on.member(at, "guest");
    const path = `${at.issues}/${second.iid}/reorder`;
    assert.equal((await on.app.put(path, { token, payload: { move_after_id: id } })).status, 403);
    const hidden = await on.create(await on.project());
    const payload = { move_after_id: hidden.id };
    assert.equal((await on.app.put(path, { token: at.user.token, payload })).status, 404);
    assert.equal((await on.app.put(path, { token: at.user.token, payload: {} })).status, 400);
    assert.equal(iid, 1);
  });
});
