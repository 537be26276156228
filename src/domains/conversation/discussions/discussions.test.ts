import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { MAX_TEXT_BYTES } from "#domains/conversation/items/descriptions.ts";
import { accepted } from "#domains/planning/issues/test-support.ts";
import { type NotesApp, notesApp } from "#domains/conversation/notes/test-support.ts";
import type { TestUser } from "#test/support/app.ts";

describe("discussions", () => {
  let on: NotesApp;
  before(async () => {
    on = await notesApp();
  });
  after(() => on.app.close());

  async function begun(item: string, { token }: TestUser, payload: object = {}) {
    return accepted(
      await on.app.post(`${item}/discussions`, { token, payload: { body: "Which way?", ...payload } }),
      201,
    );
  }
  const reply = (item: string, id: string, { token }: TestUser, body = "West") =>
    on.app.post(`${item}/discussions/${id}/notes`, { token, payload: { body } });
  const bodiesOf = ({ notes }: { notes: { body: string }[] }) => notes.map(({ body }) => body);

  test("begin with a note that others reply to", async () => {
    const at = await on.publicProject();
    const issue = await on.issue(at);
    const discussion = await begun(issue, at.user);
    assert.match(discussion.id, /^[0-9a-f]{40}$/);
    assert.equal(discussion.individual_note, false);
    assert.deepEqual([discussion.notes[0].type, discussion.notes[0].noteable_type], ["DiscussionNote", "Issue"]);
    const stranger = await on.app.makeUser();
    const answer = accepted(await reply(issue, discussion.id, stranger), 201);
    assert.deepEqual([answer.type, answer.author.id], ["DiscussionNote", stranger.id]);
    const read = await on.get(`${issue}/discussions/${discussion.id}`);
    assert.deepEqual(bodiesOf(read), ["Which way?", "West"]);
    assert.deepEqual(await on.get(`${issue}/discussions`), [read]);
    assert.deepEqual(await on.get(`${issue}/discussions/${discussion.id}/notes/${answer.id}`), answer);
    assert.equal((await on.get(issue)).user_notes_count, 2);
  });

  test("long replies are cut in a discussion, and whole by themselves", async () => {
    const at = await on.publicProject();
    const issue = await on.issue(at);
    const { id, notes } = await begun(issue, at.user);
    await sql`insert into notes (issue_id, discussion_id, author_id, body)
      select issue_id, id, author_id, repeat('x', 1000000) from notes, generate_series(1, 9)
      where id = ${notes[0].id}`.execute(on.app.services.db.write);
    for (const path of [`${issue}/discussions/${id}`, `${issue}/discussions`]) {
      const { status, headers, text } = await on.app.get(path);
      assert.deepEqual([status, headers["x-truncated"]], [200, "true"], path);
      assert.ok(text.length < MAX_TEXT_BYTES + 64 * 1024, `${text.length} bytes`);
    }
    const last = (await on.get(`${issue}/discussions/${id}`)).notes.at(-1);
    assert.equal((await on.get(`${issue}/notes/${last.id}`)).body.length, 1_000_000);
  });

  test("a single note is a discussion too, until somebody replies to it", async () => {
    const group = await on.epics.epicGroup();
    const epic = await on.epic(group);
    const note = await on.commented(epic, group.owner);
    const [single] = await on.get(`${epic}/discussions`, group.owner);
    assert.deepEqual([single.individual_note, single.notes], [true, [note]]);
    accepted(await reply(epic, single.id, group.owner), 201);
    const joined = await on.get(`${epic}/discussions/${single.id}`, group.owner);
    assert.deepEqual([joined.id, joined.individual_note, bodiesOf(joined)], [single.id, false, [note.body, "West"]]);
    assert.equal((await on.get(`${epic}/notes/${note.id}`, group.owner)).type, "DiscussionNote");
  });

  test("are listed in the order in which they began, in full and page by page", async () => {
    const at = await on.project();
    const issue = await on.issue(at);
    const first = await begun(issue, at.user, { body: "one" });
    await on.commented(issue, at.user, { body: "two" });
    await begun(issue, at.user, { body: "three" });
    await reply(issue, first.id, at.user, "four");
    const all = await on.get(`${issue}/discussions`, at.user);
    assert.deepEqual(all.map(bodiesOf), [["one", "four"], ["two"], ["three"]]);
    const page = await on.app.get(`${issue}/discussions?per_page=1&page=2`, { token: at.user.token });
    assert.deepEqual([page.body.map(bodiesOf), page.headers["x-total"]], [[["two"]], "3"]);
  });

  test("keep their id when the note that began them is deleted, and end with their last note", async () => {
    const at = await on.project("maintainer");
    const issue = await on.issue(at);
    const { id, notes } = await begun(issue, at.user);
    const answer = accepted(await reply(issue, id, at.user), 201);
    const { token } = at.user;
    const path = `${issue}/discussions/${id}`;
    assert.equal((await on.app.delete(`${path}/notes/${notes[0].id}`, { token })).status, 204);
    assert.deepEqual(bodiesOf(await on.get(path, at.user)), ["West"]);
    assert.deepEqual((await on.get(`${issue}/discussions`, at.user)).map(bodiesOf), [["West"]]);
    accepted(await reply(issue, id, at.user, "East"), 201);
    const put = await on.app.put(`${path}/notes/${answer.id}`, { token, payload: { body: "North" } });
    assert.deepEqual([put.status, put.body.body], [200, "North"]);
    assert.deepEqual(bodiesOf(await on.get(path, at.user)), ["North", "East"]);
    for (const note of (await on.get(path, at.user)).notes) await on.app.delete(`${path}/notes/${note.id}`, { token });
    assert.equal((await on.app.get(path, { token })).status, 404);
  });

  test("what replies to an internal note is internal", async () => {
    const at = await on.publicProject();
    const issue = await on.issue(at);
    const { id } = await begun(issue, at.user, { internal: true });
    assert.equal(accepted(await reply(issue, id, at.user), 201).internal, true);
    const stranger = await on.app.makeUser();
    assert.deepEqual(await on.get(`${issue}/discussions`, stranger), []);
    const none = await on.app.get(`${issue}/discussions/${"f".repeat(40)}`, { token: stranger.token });
    const hidden = await on.app.get(`${issue}/discussions/${id}`, { token: stranger.token });
    assert.deepEqual([hidden.status, hidden.text], [404, none.text]);
    assert.equal((await reply(issue, id, stranger)).status, 404);
  });

  test("ids of no discussion are missing, and a note is found in its own discussion only", async () => {
    const at = await on.project();
    const [issue, other] = [await on.issue(at), await on.issue(at)];
    const [one, two] = [await begun(issue, at.user), await begun(issue, at.user)];
    const { token } = at.user;
    for (const id of ["1", "x".repeat(40), one.id.toUpperCase().replaceAll("0", "O"), "f".repeat(40), "%00"]) {
      assert.ok([400, 404].includes((await on.app.get(`${issue}/discussions/${id}`, { token })).status), id);
    }
    assert.equal((await on.app.get(`${other}/discussions/${one.id}`, { token })).status, 404);
    const foreign = `${issue}/discussions/${two.id}/notes/${one.notes[0].id}`;
    assert.equal((await on.app.get(foreign, { token })).status, 404);
    assert.equal((await on.app.put(foreign, { token, payload: { body: "x" } })).status, 404);
    assert.equal((await on.app.delete(foreign, { token })).status, 404);
  });

  test("nobody replies to a system note, or where the discussion is locked", async () => {
    const at = await on.publicProject();
    const issue = await on.issue(at);
    const { token } = at.user;
    await on.app.put(issue, { token, payload: { discussion_locked: true } });
    const [record] = await on.get(`${issue}/discussions`);
    assert.deepEqual([record.individual_note, bodiesOf(record)], [true, ["locked the discussion in this issue"]]);
    assert.equal((await reply(issue, record.id, at.user)).status, 400);
    const { id } = await begun(issue, at.user);
    assert.equal((await reply(issue, id, await on.app.makeUser())).status, 403);
  });
});
