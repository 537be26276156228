import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { TestUser } from "#test/support/app.ts";
import { type NotesApp, notesApp } from "./test-support.ts";

describe("who reads and writes notes", () => {
  let on: NotesApp;
  before(async () => {
    on = await notesApp();
  });
  after(() => on.app.close());

  /** Asks in every way for a note, and returns whether all of them show it. */
  async function sees(item: string, noteId: number, user: TestUser | undefined): Promise<boolean> {
    const token = user?.token;
    const one = await on.app.get(`${item}/notes/${noteId}`, { token });
    const listed = await on.app.get(`${item}/notes`, { token });
    const hasNote = listed.body.some(({ id }: { id: number }) => id === noteId);
    assert.equal(listed.headers["x-total"], String(listed.body.length));
    assert.equal(hasNote, one.status === 200);
    if (!hasNote) {
      const none = await on.app.get(`${item}/notes/999999999`, { token });
      assert.deepEqual([one.status, one.text], [404, none.text]);
    }
    return hasNote;
  }

  test("internal notes on issues are for members from Planner on, at once and in the counts", async () => {
    const at = await on.publicProject();
    const author = await on.app.makeUser();
    const issue = await on.issue(at, {}, author);
    await on.commented(issue, author);
    const { id, confidential } = await on.commented(issue, at.user, { internal: true });
    assert.equal(confidential, true);
    const [guest, reporter, admin] = [
      await on.member(at, "guest"),
      await on.member(at, "reporter"),
      await on.app.makeUser({ admin: true }),
    ];
    for (const user of [at.user, reporter, admin]) {
      assert.equal(await sees(issue, id, user), true);
      assert.equal((await on.get(issue, user)).user_notes_count, 2);
    }
    for (const user of [author, guest, undefined]) {
      assert.equal(await sees(issue, id, user), false);
      assert.equal((await on.get(issue, user)).user_notes_count, 1);
      assert.equal((await on.get(at.issues, user))[0].user_notes_count, 1);
    }
    const { write } = on.app.services.db;
    await write.updateTable("members").set({ access_level: 10 }).where("user_id", "=", reporter.id).execute();
    assert.equal(await sees(issue, id, reporter), false);
    await write.updateTable("members").set({ access_level: 15 }).where("user_id", "=", guest.id).execute();
    assert.equal(await sees(issue, id, guest), true);
  });

  test("who may not read internal notes may not write, change or delete them", async () => {
    const at = await on.publicProject();
    const issue = await on.issue(at);
    const guest = await on.member(at, "guest");
    for (const name of ["internal", "confidential"]) {
      assert.equal((await on.comment(issue, guest, { [name]: true })).status, 403);
    }
    // Its author was a Planner when it was written.
    const planner = await on.member(at, "planner");
    const { id } = await on.commented(issue, planner, { confidential: true });
    const { write } = on.app.services.db;
    await write.updateTable("members").set({ access_level: 10 }).where("user_id", "=", planner.id).execute();
    const { token } = planner;
    assert.equal((await on.app.put(`${issue}/notes/${id}`, { token, payload: { body: "x" } })).status, 404);
    assert.equal((await on.app.delete(`${issue}/notes/${id}`, { token })).status, 404);
  });

  test("internal notes on epics are for members from Planner on", async () => {
    const group = await on.epics.epicGroup();
    const epic = await on.epic(group);
    const { id } = await on.commented(epic, group.owner, { internal: true });
    const [guest, planner] = [await on.epics.inRole(group, "guest"), await on.epics.inRole(group, "planner")];
    assert.equal(await sees(epic, id, planner), true);
    assert.equal(await sees(epic, id, guest), false);
    assert.equal((await on.comment(epic, guest, { internal: true })).status, 403);
    assert.equal((await on.comment(epic, guest)).status, 201);
  });

  test("notes of an item that is hidden are answered like those of a missing one", async () => {
    const at = await on.publicProject();
    const { iid } = await on.create(at, { confidential: true });
    const { id } = await on.commented(`${at.issues}/${iid}`, at.user);
    const { token } = await on.app.makeUser();
    const payload = { body: "x" };
    const ask = async (item: string) => [
      await on.app.get(`${item}/notes`, { token }),
      await on.app.get(`${item}/notes/${id}`, { token }),
      await on.app.post(`${item}/notes`, { token, payload }),
      await on.app.put(`${item}/notes/${id}`, { token, payload }),
      await on.app.delete(`${item}/notes/${id}`, { token }),
    ];
    const hidden = await ask(`${at.issues}/${iid}`);
    const none = await ask(`${at.issues}/${iid + 1000}`);
    assert.deepEqual(
      hidden.map(({ status, text }) => [status, text]),
      none.map(({ text }) => [404, text]),
    );
  });

  test("where the discussion is locked only members write", async () => {
    const at = await on.publicProject();
    const issue = await on.issue(at);
    const stranger = await on.app.makeUser();
    const { id } = await on.commented(issue, stranger);
    await on.app.put(issue, { token: at.user.token, payload: { discussion_locked: true } });
    assert.equal((await on.comment(issue, stranger)).status, 403);
    const { token } = stranger;
    assert.equal((await on.app.put(`${issue}/notes/${id}`, { token, payload: { body: "x" } })).status, 403);
    assert.equal((await on.app.delete(`${issue}/notes/${id}`, { token })).status, 403);
    assert.equal((await on.comment(issue, await on.member(at, "guest"))).status, 201);
    assert.equal((await on.comment(issue, await on.app.makeUser({ admin: true }))).status, 201);
    assert.equal(await sees(issue, id, stranger), true);
  });

  test("notes of an archived project are read only, and those of a switched-off feature nobody's", async () => {
    const at = await on.publicProject("owner");
    const issue = await on.issue(at);
    const { id } = await on.commented(issue, at.user);
    const { write } = on.app.services.db;
    const { token } = at.user;
    await write.updateTable("projects").set({ archived: true }).where("id", "=", at.id).execute();
    assert.equal(await sees(issue, id, undefined), true);
    assert.equal((await on.comment(issue, at.user)).status, 403);
    assert.equal((await on.app.put(`${issue}/notes/${id}`, { token, payload: { body: "x" } })).status, 403);
    assert.equal((await on.app.delete(`${issue}/notes/${id}`, { token })).status, 403);
    const off = { archived: false, issues_access_level: "disabled" } as const;
    await write.updateTable("projects").set(off).where("id", "=", at.id).execute();
    assert.equal((await on.app.get(`${issue}/notes`, { token })).status, 403);
  });

  test("without a token notes are read where everybody may, and not written", async () => {
    const at = await on.publicProject();
    const issue = await on.issue(at);
    const { id } = await on.commented(issue, at.user);
    assert.equal(await sees(issue, id, undefined), true);
    assert.equal((await on.app.post(`${issue}/notes`, { payload: { body: "x" } })).status, 401);
    assert.equal((await on.app.delete(`${issue}/notes/${id}`)).status, 401);
  });
});
