import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { accepted, type IssueProject } from "#domains/planning/issues/test-support.ts";
import type { TestUser } from "#test/support/app.ts";
import { type NotesApp, notesApp } from "#domains/conversation/notes/test-support.ts";

describe("system notes", () => {
  let on: NotesApp;
  before(async () => {
    on = await notesApp();
  });
  after(() => on.app.close());

  const records = (item: string, user?: TestUser) =>
    on.bodies(`${item}/notes?activity_filter=only_activity&sort=asc&per_page=100`, user);

  /** Changes an item and returns what is recorded of it. */
  async function changed(item: string, { token }: TestUser, payload: object): Promise<string[]> {
    const before = await records(item, { token } as TestUser);
    accepted(await on.app.put(item, { token, payload }), 200);
    return (await records(item, { token } as TestUser)).slice(before.length);
  }

  async function labelIds({ id }: IssueProject, user: TestUser): Promise<Record<string, number>> {
    const labels = await on.get(`/projects/${id}/labels`, user);
    return Object.fromEntries(labels.map((label: { id: number; name: string }) => [label.name, label.id]));
  }

  test("say what changed in an issue, who changed it and when", async () => {
    const at = await on.project();
    const issue = await on.issue(at, { title: "Leak" });
    const say = (payload: object) => changed(issue, at.user, payload);
    assert.deepEqual(await records(issue, at.user), []);
    assert.deepEqual(await say({ title: "Storm" }), ["changed title from **{-Leak-}** to **{+Storm+}**"]);
    assert.deepEqual(await say({ description: "Pump" }), ["changed the description"]);
    assert.deepEqual(await say({ state_event: "close" }), ["closed"]);
    assert.deepEqual(await say({ state_event: "reopen" }), ["reopened"]);
    assert.deepEqual(await say({ confidential: true }), ["made the issue confidential"]);
    assert.deepEqual(await say({ confidential: false }), ["made the issue visible to everyone"]);
    assert.deepEqual(await say({ due_date: "2031-01-05" }), ["changed due date to January 5, 2031"]);
    assert.deepEqual(await say({ due_date: null }), ["removed due date"]);
    assert.deepEqual(await say({ weight: 3 }), ["changed weight to **3**"]);
    assert.deepEqual(await say({ discussion_locked: true }), ["locked the discussion in this issue"]);
    assert.deepEqual(await say({ issue_type: "incident" }), ["changed type from issue to incident"]);
    const [last] = await on.get(`${issue}/notes`, at.user);
    assert.deepEqual([last.system, last.internal, last.type, last.author.id], [true, false, null, at.user.id]);
  });

  test("are not written if nothing is different afterwards", async () => {
    const at = await on.project();
    const issue = await on.issue(at, { title: "Leak", labels: "wet", assignee_ids: [at.user.id] });
    const same = { title: "Leak", labels: "wet", assignee_ids: [at.user.id], confidential: false, weight: null };
    assert.deepEqual(await changed(issue, at.user, { ...same, state_event: "reopen" }), []);
    assert.deepEqual(await changed(issue, at.user, { discussion_locked: false }), []);
  });

  test("name labels by their ids, and assignees by their usernames", async () => {
    const at = await on.project();
    const issue = await on.issue(at);
    const [ada, eve] = [await on.member(at, "guest"), await on.member(at, "guest")];
    const say = (payload: object) => changed(issue, at.user, payload);
    const first = await say({ labels: "a" });
    const { a } = await labelIds(at, at.user);
    assert.deepEqual(first, [`added ~${a} label`]);
    const next = await say({ labels: "b,c" });
    const { b, c } = await labelIds(at, at.user);
    assert.deepEqual(next, [`added ~${b} ~${c} labels and removed ~${a} label`]);
    assert.deepEqual(await say({ assignee_ids: [ada.id, eve.id] }), [
      `assigned to @${ada.username} and @${eve.username}`,
    ]);
    assert.deepEqual(await say({ assignee_ids: [at.user.id, eve.id] }), [
      `assigned to @${at.user.username} and unassigned @${ada.username}`,
    ]);
    assert.deepEqual(await say({ assignee_ids: [], labels: "" }), [
      `removed ~${b} ~${c} labels`,
      `unassigned @${at.user.username} and @${eve.username}`,
    ]);
  });

  test("say what changed in an epic", async () => {
    const group = await on.epics.epicGroup();
    const { id, iid } = await on.epics.created(group, { title: "Voyage" });
    await on.epics.put(group, iid, { title: "Passage", confidential: true, due_date_fixed: "2031-01-05" });
    await on.epics.put(group, iid, { state_event: "close", color: "#112233" });
    assert.deepEqual(await records(`${group.epics}/${id}`, group.owner), [
      "changed title from **{-Voyage-}** to **{+Passage+}**",
      "made the epic confidential",
      "changed fixed due date to January 5, 2031",
      "changed color to **#112233**",
      "closed",
    ]);
  });

  test("of a parent are on both epics, for those who see both", async () => {
    const group = await on.epics.epicGroup();
    const below = await on.epics.epicGroup(group);
    const [first, second] = [await on.epics.created(group), await on.epics.created(group)];
    const child = await on.epics.created(below);
    const { token } = group.owner;
    accepted(await on.epics.put(below, child.iid, { parent_id: first.id }), 200);
    accepted(await on.app.post(`${group.epics}/${second.iid}/epics/${child.id}`, { token }), 201);
    accepted(await on.app.delete(`${group.epics}/${second.iid}/epics/${child.id}`, { token }), 200);
    const [one, other] = [first.references.full, second.references.full];
    assert.deepEqual(await records(`${below.epics}/${child.id}`, group.owner), [
      ...[`added parent epic ${one}`, `removed parent epic ${one}`],
      ...[`added parent epic ${other}`, `removed parent epic ${other}`],
    ]);
    const { full } = child.references;
    for (const { id } of [first, second])
      assert.deepEqual(await records(`${group.epics}/${id}`, group.owner), [
        ...[`added child epic ${full}`, `removed child epic ${full}`],
      ]);
    const sibling = await on.epics.created(group);
    accepted(await on.epics.put(group, sibling.iid, { parent_id: first.id }), 200);
    assert.deepEqual(await records(`${group.epics}/${sibling.id}`, group.owner), [
      `added parent epic ${first.references.short}`,
    ]);
    const user = await on.epics.inRole(below, "owner");
    assert.deepEqual(await records(`${below.epics}/${child.id}`, user), []);
  });

  test("of a link are on both ends, for those who see both", async () => {
    const at = await on.publicProject();
    const [one, other] = [await on.issue(at), await on.issue(at)];
    const { token } = at.user;
    const link = async (type: string) => {
      const payload = { target_project_id: at.id, target_issue_iid: 2, link_type: type };
      return accepted(await on.app.post(`${one}/links`, { token, payload }), 201).id as number;
    };
    await on.app.delete(`${one}/links/${await link("relates_to")}`, { token });
    await link("is_blocked_by");
    const marked = "marked this issue as";
    assert.deepEqual(await records(one), [
      ...[`${marked} related to #2`, "removed the relation with #2", `${marked} blocked by #2`],
    ]);
    assert.deepEqual(await records(other), [
      ...[`${marked} related to #1`, "removed the relation with #1", `${marked} blocking #1`],
    ]);
    const [note] = await on.get(`${one}/notes`);
    await on.app.put(other, { token, payload: { confidential: true } });
    const stranger = await on.app.makeUser();
    assert.deepEqual(await records(one, stranger), []);
    const hidden = await on.app.get(`${one}/notes/${note.id}`, { token: stranger.token });
    const none = await on.app.get(`${one}/notes/999999999`, { token: stranger.token });
    assert.deepEqual([hidden.status, hidden.text], [404, none.text]);
    assert.equal((await records(one, at.user)).length, 3);
  });

  test("of a link between epics are on both ends, with the path of another group", async () => {
    const group = await on.epics.epicGroup();
    const below = await on.epics.epicGroup(group);
    const [one, other] = [await on.epics.created(group), await on.epics.created(below)];
    const payload = { target_group_id: below.id, target_epic_iid: other.iid, link_type: "blocks" };
    const { token } = group.owner;
    accepted(await on.app.post(`${group.epics}/${one.iid}/related_epics`, { token, payload }), 201);
    const reference = other.references.full;
    assert.deepEqual(await records(`${group.epics}/${one.id}`, group.owner), [
      `marked this epic as blocking ${reference}`,
    ]);
    assert.deepEqual(await records(`${below.epics}/${other.id}`, group.owner), [
      `marked this epic as blocked by ${one.references.full}`,
    ]);
  });

  test("of a move are on both issues, for those who see both", async () => {
    const from = await on.publicProject();
    const to = await on.project();
    await on.insert.member(from.user, { project_id: to.id }, "planner");
    const issue = await on.issue(from);
    const { token } = from.user;
    const moved = accepted(await on.app.post(`${issue}/move`, { token, payload: { to_project_id: to.id } }), 201);
    const old = await on.get(issue, from.user);
    assert.deepEqual(await records(issue, from.user), [`moved to ${moved.references.full}`]);
    const target = `${to.issues}/${moved.iid}`;
    assert.deepEqual(await records(target, from.user), [`moved from ${old.references.full}`]);
    // The target is private: nobody else learns of it.
    assert.deepEqual(await records(issue), []);
  });

  test("are neither changed nor deleted, and are not counted as comments", async () => {
    const at = await on.project("owner");
    const issue = await on.issue(at);
    await changed(issue, at.user, { state_event: "close" });
    const [{ id }] = await on.get(`${issue}/notes`, at.user);
    const admin = await on.app.makeUser({ admin: true });
    for (const { token } of [at.user, admin]) {
      assert.equal((await on.app.put(`${issue}/notes/${id}`, { token, payload: { body: "x" } })).status, 403);
      assert.equal((await on.app.delete(`${issue}/notes/${id}`, { token })).status, 403);
    }
    assert.equal((await on.get(issue, at.user)).user_notes_count, 0);
  });

  test("are written with the change or not at all", async () => {
    const at = await on.project();
    const issue = await on.issue(at, { due_date: "2031-01-05" });
    const { token } = at.user;
    const payload = { title: "Other", labels: "new", start_date: "2031-02-01" };
    assert.equal((await on.app.put(issue, { token, payload })).status, 400);
    assert.deepEqual(await records(issue, at.user), []);
  });
});
