import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { accepted } from "#domains/planning/issues/test-support.ts";
import { type NotesApp, notesApp } from "#domains/conversation/notes/test-support.ts";
import type { TestUser } from "#test/support/app.ts";

describe("award emoji", () => {
  let on: NotesApp;
  before(async () => {
    on = await notesApp();
  });
  after(() => on.app.close());

  const give = (thing: string, { token }: TestUser, name = "rocket") =>
    on.app.post(`${thing}/award_emoji`, { token, payload: { name } });

  test("are given to issues, epics and notes, listed, read and taken back", async () => {
    const at = await on.publicProject();
    const issue = await on.issue(at);
    const note = await on.commented(issue, at.user);
    const group = await on.epics.epicGroup();
    const epic = await on.epics.created(group);
    const epicNote = await on.commented(`${group.epics}/${epic.id}`, group.owner);
    const { id: issueId } = await on.get(issue);
    const things: readonly [path: string, user: TestUser, type: string, id: number][] = [
      [issue, at.user, "Issue", issueId],
      [`${issue}/notes/${note.id}`, at.user, "Note", note.id],
      [`${group.epics}/${epic.iid}`, group.owner, "Epic", epic.id],
      [`${group.epics}/${epic.id}/notes/${epicNote.id}`, group.owner, "Note", epicNote.id],
    ];
    for (const [thing, user, type, id] of things) {
      const award = accepted(await give(thing, user), 201);
      const { name, awardable_type, awardable_id, url } = award;
      assert.deepEqual([name, awardable_type, awardable_id, url, award.user.id], ["rocket", type, id, null, user.id]);
      assert.deepEqual(await on.get(`${thing}/award_emoji/${award.id}`, user), award);
      assert.deepEqual(await on.get(`${thing}/award_emoji`, user), [award]);
      assert.equal((await on.app.delete(`${thing}/award_emoji/${award.id}`, { token: user.token })).status, 204);
      assert.equal((await on.app.get(`${thing}/award_emoji/${award.id}`, { token: user.token })).status, 404);
    }
  });

  test("one person gives each name once, also at the same moment", async () => {
    const at = await on.publicProject();
    const issue = await on.issue(at);
    const replies = await Promise.all([1, 2, 3].map(() => give(issue, at.user)));
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, 409, 409],
    );
    assert.equal((await give(issue, at.user, "Rocket")).status, 409);
    assert.equal((await give(issue, at.user, "tada")).status, 201);
    assert.equal(accepted(await give(issue, at.user, "constructor"), 201).name, "constructor");
    assert.equal((await give(issue, await on.app.makeUser())).status, 201);
    for (const name of ["", "a b", ":rocket:", "é", "x".repeat(101)]) {
      assert.equal((await give(issue, at.user, name)).status, 400, name);
    }
    const { write } = on.app.services.db;
    const { id } = await on.get(issue);
    const names = Array.from({ length: 47 }, (_, n) => ({ issue_id: id, user_id: at.user.id, name: `n${n}` }));
    await write.insertInto("award_emoji").values(names).execute();
    assert.equal((await give(issue, at.user, "more")).status, 422);
  });

  test("thumbs are the votes of issues and epics", async () => {
    const at = await on.publicProject();
    const issue = await on.issue(at);
    const [one, two, three] = [await on.app.makeUser(), await on.app.makeUser(), await on.app.makeUser()];
    await give(issue, one, "thumbsup");
    assert.equal(accepted(await give(issue, two, "+1"), 201).name, "thumbsup");
    await give(issue, three, "-1");
    await give(issue, three, "rocket");
    for (const view of [await on.get(issue), (await on.get(at.issues))[0]]) {
      assert.deepEqual([view.upvotes, view.downvotes], [2, 1]);
    }
    const group = await on.epics.epicGroup();
    const { iid } = await on.epics.created(group);
    await give(`${group.epics}/${iid}`, group.owner, "thumbsdown");
    const { body } = await on.epics.get(group, iid);
    assert.deepEqual([body.upvotes, body.downvotes], [0, 1]);
  });

  test("only who gave one, or an administrator, takes it back", async () => {
    const at = await on.publicProject("owner");
    const issue = await on.issue(at);
    const stranger = await on.app.makeUser();
    const { id } = accepted(await give(issue, stranger), 201);
    const path = `${issue}/award_emoji/${id}`;
    assert.equal((await on.app.delete(path, { token: at.user.token })).status, 403);
    assert.equal((await on.app.delete(path)).status, 401);
    const other = await on.issue(at);
    assert.equal((await on.app.delete(`${other}/award_emoji/${id}`, { token: stranger.token })).status, 404);
    const admin = await on.app.makeUser({ admin: true });
    assert.equal((await on.app.delete(path, { token: admin.token })).status, 204);
  });

  test("those of hidden notes and items are hidden, and a locked discussion is for members", async () => {
    const at = await on.publicProject();
    const issue = await on.issue(at);
    const { id } = await on.commented(issue, at.user, { internal: true });
    const note = `${issue}/notes/${id}`;
    const award = accepted(await give(note, at.user), 201);
    const stranger = await on.app.makeUser();
    for (const path of [`${note}/award_emoji`, `${note}/award_emoji/${award.id}`]) {
      assert.equal((await on.app.get(path, { token: stranger.token })).status, 404);
    }
    assert.equal((await give(note, stranger)).status, 404);
    const { token } = at.user;
    await on.app.put(issue, { token, payload: { discussion_locked: true } });
    assert.equal((await give(issue, stranger)).status, 403);
    assert.equal((await give(issue, at.user)).status, 201);
    const [record] = await on.get(`${issue}/notes?activity_filter=only_activity`);
    assert.equal((await give(`${issue}/notes/${record.id}`, at.user)).status, 403);
    await on.app.put(issue, { token, payload: { confidential: true } });
    assert.equal((await on.app.get(`${issue}/award_emoji`, { token: stranger.token })).status, 404);
  });

  test("those of a deleted note are gone with it", async () => {
    const at = await on.project();
    const issue = await on.issue(at);
    const { id } = await on.commented(issue, at.user);
    const award = accepted(await give(`${issue}/notes/${id}`, at.user), 201);
    await on.app.delete(`${issue}/notes/${id}`, { token: at.user.token });
    const { write } = on.app.services.db;
    const left = await write.selectFrom("award_emoji").select("id").where("id", "=", award.id).executeTakeFirst();
    assert.equal(left, undefined);
  });
});
