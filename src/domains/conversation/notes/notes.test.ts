import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { MAX_TEXT_BYTES } from "#domains/conversation/items/descriptions.ts";
import { ignoredIn } from "#domains/planning/issues/test-support.ts";
import { testApp } from "#test/support/app.ts";
import { type NotesApp, notesApp } from "./test-support.ts";

describe("notes", () => {
  let on: NotesApp;
  before(async () => {
    on = await notesApp();
  });
  after(() => on.app.close());

  test("a comment on an issue has the fields that clients read", async () => {
    const at = await on.publicProject();
    const { id, iid } = await on.create(at);
    const author = await on.app.makeUser();
    const note = await on.commented(`${at.issues}/${iid}`, author, { body: "Mind the **tide**" });
    const { author: by, id: noteId, created_at, updated_at, ...others } = note;
    assert.deepEqual(others, {
      ...{ type: null, body: "Mind the **tide**", system: false, noteable_id: id, noteable_type: "Issue" },
      ...{ project_id: at.id, resolvable: false, confidential: false, internal: false, imported: false },
      ...{ imported_from: "none", noteable_iid: iid, commands_changes: {} },
    });
    assert.deepEqual([by.id, by.username, created_at], [author.id, author.username, updated_at]);
    assert.deepEqual(await on.get(`${at.issues}/${iid}/notes/${noteId}`), note);
    assert.deepEqual(await on.get(`${at.issues}/${iid}/notes`), [note]);
  });

  test("a comment on an epic names it, and is found by the epic's id or number", async () => {
    const group = await on.epics.epicGroup();
    const epic = await on.epics.created(group);
    const note = await on.commented(`${group.epics}/${epic.id}`, group.owner);
    const { noteable_id, noteable_iid, noteable_type, project_id } = note;
    assert.deepEqual([noteable_id, noteable_iid, noteable_type, project_id], [epic.id, epic.iid, "Epic", null]);
    assert.deepEqual(await on.get(`${group.epics}/${epic.id}/notes`, group.owner), [note]);
    assert.deepEqual(await on.get(`${group.epics}/${epic.iid}/notes/${note.id}`, group.owner), note);
  });

  test("notes of epics take the plan Premium, those of issues do not", async () => {
    const free = await testApp({ env: { FAIRLEAD_PLAN: "free" } });
    try {
      const { token } = await free.makeUser();
      assert.equal((await free.get("/groups/1/epics/1/notes", { token })).status, 403);
      assert.equal((await free.get("/projects/999999999/issues/1/notes", { token })).status, 404);
    } finally {
      await free.close();
    }
  });

  test("lists are newest first, and ordered and filtered on request", async () => {
    const at = await on.project("owner");
    const issue = await on.issue(at);
    const first = await on.commented(issue, at.user, { body: "first", created_at: "2020-01-01T00:00:00Z" });
    assert.deepEqual([first.created_at, first.updated_at], ["2020-01-01T00:00:00.000Z", "2020-01-01T00:00:00.000Z"]);
    await on.commented(issue, at.user, { body: "second" });
    await on.app.put(`${issue}/notes/${first.id}`, { token: at.user.token, payload: { body: "first again" } });
    const comments = `${issue}/notes?activity_filter=only_comments`;
    assert.deepEqual(await on.bodies(comments, at.user), ["second", "first again"]);
    assert.deepEqual(await on.bodies(`${comments}&sort=asc`, at.user), ["first again", "second"]);
    assert.deepEqual(await on.bodies(`${comments}&order_by=updated_at`, at.user), ["first again", "second"]);
    assert.deepEqual(await on.bodies(`${comments}&per_page=1&page=2`, at.user), ["first again"]);
    assert.deepEqual(await on.bodies(`${comments}&per_page=1&pagination=keyset`, at.user), ["second"]);
    assert.deepEqual(await on.bodies(`${issue}/notes?activity_filter=only_activity`, at.user), []);
    for (const query of ["activity_filter=some", "order_by=body", "sort=up"]) {
      assert.equal((await on.app.get(`${issue}/notes?${query}`, { token: at.user.token })).status, 400, query);
    }
  });

  test("created_at counts for Owners and administrators only", async () => {
    const at = await on.project("maintainer");
    const issue = await on.issue(at);
    const reply = await on.comment(issue, at.user, { created_at: "2020-01-01T00:00:00Z" });
    assert.equal(reply.status, 201);
    assert.deepEqual(ignoredIn(reply), ["created_at"]);
    assert.notEqual(reply.body.created_at.slice(0, 4), "2020");
    const admin = await on.app.makeUser({ admin: true });
    const { created_at } = await on.commented(issue, admin, { created_at: "2020-01-01T00:00:00Z" });
    assert.equal(created_at, "2020-01-01T00:00:00.000Z");
  });

  test("a body is neither missing nor blank nor longer than 1 MiB", async () => {
    const at = await on.project();
    const issue = await on.issue(at);
    for (const body of [undefined, null, ""]) {
      const { status } = await on.app.post(`${issue}/notes`, { token: at.user.token, payload: { body } });
      assert.equal(status, 400);
    }
    assert.equal((await on.comment(issue, at.user, { body: "a".repeat(1_048_577) })).status, 413);
    const { id, body } = await on.commented(issue, at.user, { body: "a".repeat(1_048_000) });
    assert.equal(body.length, 1_048_000);
    const { token } = at.user;
    assert.equal((await on.app.put(`${issue}/notes/${id}`, { token, payload: {} })).status, 400);
    assert.equal((await on.app.put(`${issue}/notes/${id}`, { token, payload: { body: "" } })).status, 400);
  });

  test("bodies that are too much for one answer are cut, and it says so", async () => {
    const at = await on.project();
    const issue = await on.issue(at);
    for (let count = 0; count < 9; count++) await on.commented(issue, at.user, { body: "a".repeat(1_000_000) });
    const { token } = at.user;
    await on.commented(issue, at.user, { body: "short" });
    const lengths = (of: { body: string }[]) => of.map(({ body }) => body.length);
    const all = await on.app.get(`${issue}/notes`, { token });
    assert.deepEqual([all.status, all.headers["x-truncated"]], [200, "true"]);
    const share = Math.floor(MAX_TEXT_BYTES / 10);
    assert.deepEqual(lengths(all.body), ["short".length, ...Array.from({ length: 9 }, () => share)]);
    const few = await on.app.get(`${issue}/notes?per_page=4`, { token });
    assert.deepEqual([few.headers["x-truncated"], ...lengths(few.body)], [undefined, 5, 1e6, 1e6, 1e6]);
  });

  test("authors and administrators change a note, nobody else", async () => {
    const at = await on.publicProject("owner");
    const issue = await on.issue(at);
    const [author, admin] = [await on.app.makeUser(), await on.app.makeUser({ admin: true })];
    const note = await on.commented(issue, author);
    const put = ({ token }: { token: string }, body: string) =>
      on.app.put(`${issue}/notes/${note.id}`, { token, payload: { body } });
    assert.equal((await put(at.user, "mine now")).status, 403);
    const same = await put(author, note.body);
    assert.deepEqual(same.body, note);
    const changed = await put(author, "changed");
    assert.deepEqual([changed.status, changed.body.body], [200, "changed"]);
    assert.ok(changed.body.updated_at > note.updated_at);
    const byAdmin = await put(admin, "by an administrator");
    assert.equal(byAdmin.body.author.id, author.id);
    const { write } = on.app.services.db;
    const events = await write.selectFrom("audit_events").selectAll().where("target_type", "=", "Note").execute();
    assert.deepEqual(
      events.map(({ event, actor_id, target_id, entity_id }) => ({ event, actor_id, target_id, entity_id })),
      [{ event: "note_changed", actor_id: admin.id, target_id: note.id, entity_id: at.id }],
      "only what another wrote",
    );
  });

  test("the audit log has what is written for another user", async () => {
    const at = await on.publicProject("owner");
    const issue = await on.issue(at);
    const admin = await on.app.makeUser({ admin: true }, ["api", "sudo"]);
    const asked = { token: admin.token, headers: { sudo: String(at.user.id) } };
    const replies = [
      await on.app.post(`${issue}/notes`, { ...asked, payload: { body: "Told" } }),
      await on.app.post(at.issues, { ...asked, payload: { title: "Told" } }),
      await on.app.put(issue, { ...asked, payload: { title: "Told" } }),
      await on.app.post("/markdown", { ...asked, payload: { text: "*changes nothing*" } }),
    ];
    assert.deepEqual(
      replies.map(({ status }) => status),
      [201, 201, 200, 201],
    );
    const events = await on.app.services.db.write
      .selectFrom("audit_events")
      .select(["event", "actor_id", "entity_type", "entity_id"])
      .where("sudo_actor_id", "=", admin.id)
      .orderBy("id")
      .execute();
    const common = { actor_id: at.user.id, entity_type: "Project", entity_id: at.id };
    assert.deepEqual(
      events,
      ["note_created", "issue_created", "issue_changed"].map((event) => ({ event, ...common })),
    );
  });

  test("authors and Maintainers delete a note, nobody else", async () => {
    const at = await on.publicProject("maintainer");
    const issue = await on.issue(at);
    const author = await on.app.makeUser();
    const developer = await on.member(at, "developer");
    for (const user of [author, at.user]) {
      const { id } = await on.commented(issue, author);
      const path = `${issue}/notes/${id}`;
      assert.equal((await on.app.delete(path, { token: developer.token })).status, 403);
      const early = { "if-unmodified-since": "Wed, 01 Jan 2020 00:00:00 GMT" };
      assert.equal((await on.app.delete(path, { token: user.token, headers: early })).status, 412);
      assert.equal((await on.app.delete(path, { token: user.token })).status, 204);
      assert.equal((await on.app.get(path)).status, 404);
    }
  });

  test("a note is found on its own item only", async () => {
    const at = await on.publicProject();
    const [one, other] = [await on.issue(at), await on.issue(at)];
    const { id } = await on.commented(one, at.user);
    const { token } = at.user;
    for (const method of ["get", "delete"] as const) {
      const foreign = await on.app[method](`${other}/notes/${id}`, { token });
      const none = await on.app[method](`${other}/notes/999999999`, { token });
      assert.deepEqual([foreign.status, foreign.text], [404, none.text]);
    }
  });

  test("a comment changes the time of its issue, and is counted", async () => {
    const at = await on.project();
    const created = await on.create(at);
    const issue = `${at.issues}/${created.iid}`;
    assert.equal(created.user_notes_count, 0);
    const { id } = await on.commented(issue, at.user);
    const read = await on.get(issue, at.user);
    assert.ok(read.updated_at > created.updated_at);
    assert.equal(read.user_notes_count, 1);
    assert.equal((await on.get(at.issues, at.user))[0].user_notes_count, 1);
    await on.app.delete(`${issue}/notes/${id}`, { token: at.user.token });
    assert.equal((await on.get(issue, at.user)).user_notes_count, 0);
  });

  test("an issue has at most 5000 comments, also if the last ones come at once", async () => {
    const at = await on.project();
    const { id, iid } = await on.create(at);
    const { write } = on.app.services.db;
    const rows = Array.from({ length: 4998 }, () => ({ issue_id: id, author_id: at.user.id, body: "again" }));
    for (let from = 0; from < rows.length; from += 1000) {
      await write
        .insertInto("notes")
        .values(rows.slice(from, from + 1000))
        .execute();
    }
    const replies = await Promise.all([1, 2, 3, 4].map(() => on.comment(`${at.issues}/${iid}`, at.user)));
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, 201, 422, 422],
    );
    assert.equal((await on.get(`${at.issues}/${iid}`, at.user)).user_notes_count, 5000);
  });

  test("an issue is deleted with its notes", async () => {
    const at = await on.project("owner");
    const issue = await on.issue(at);
    const { id } = await on.commented(issue, at.user);
    assert.equal((await on.app.delete(issue, { token: at.user.token })).status, 204);
    const { write } = on.app.services.db;
    assert.equal(await write.selectFrom("notes").select("id").where("id", "=", id).executeTakeFirst(), undefined);
  });
});
