import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { accepted, ignoredIn, type IssuesApp, issuesApp } from "./test-support.ts";

describe("changing issues", () => {
  let on: IssuesApp;
  before(async () => {
    on = await issuesApp();
  });
  after(() => on.app.close());

  test("those who manage issues change everything", async () => {
    const at = await on.project();
    const { iid } = await on.create(at);
    const member = await on.member(at, "guest");
    const changes = {
      ...{ title: "New", description: "Text", confidential: true, discussion_locked: true, issue_type: "task" },
      ...{ weight: 5, start_date: "2031-01-01", due_date: "2031-01-02" },
    };
    const changed = accepted(await on.put(at, iid, { ...changes, assignee_id: member.id }, at.user), 200);
    for (const [name, value] of Object.entries(changes)) assert.deepEqual(changed[name], value, name);
    assert.equal(changed.assignee.id, member.id);
    const cleared = { description: null, weight: null, start_date: "", due_date: "", assignee_ids: [] };
    const after = accepted(await on.put(at, iid, cleared, at.user), 200);
    assert.deepEqual([after.weight, after.due_date, after.start_date, after.assignees], [null, null, null, []]);
    assert.equal(after.description, null);
  });

  test("labels are replaced, added, removed and cleared, with an event for each", async () => {
    const at = await on.project();
    const { iid, id } = await on.create(at, { labels: "a,b" });
    const labelsAfter = async (payload: object) => accepted(await on.put(at, iid, payload, at.user), 200).labels;
    assert.deepEqual(await labelsAfter({ add_labels: "c, a" }), ["a", "b", "c"]);
    assert.deepEqual(await labelsAfter({ remove_labels: ["b", "unknown"] }), ["a", "c"]);
    assert.deepEqual(await labelsAfter({ labels: "d", add_labels: "e", remove_labels: "d" }), ["e"]);
    assert.deepEqual(await labelsAfter({ labels: "" }), []);
    const events = await on.app.services.db.write
      .selectFrom("label_events as e")
      .innerJoin("labels as l", "l.id", "e.label_id")
      .select(["e.action", "l.name"])
      .where("e.issue_id", "=", id)
      .orderBy("e.id")
      .execute();
    assert.deepEqual(
      events.map(({ action, name }) => `${action} ${name}`),
      [...["add a", "add b", "add c", "remove b"], ...["add e", "remove a", "remove c", "remove e"]],
    );
  });

  test("tasks are counted when the description is written", async () => {
    const at = await on.publicProject();
    const { iid } = await on.create(at, { description: "- [ ] one\n- [x] two" });
    const described = `${"x".repeat(20_000)}\n- [x] three`;
    const changed = accepted(await on.put(at, iid, { description: described }, at.user), 200);
    assert.deepEqual(changed.task_completion_status, { count: 1, completed_count: 1 });
    const countsInList = async () => (await on.get(at.issues))[0].task_completion_status;
    assert.deepEqual(await countsInList(), { count: 1, completed_count: 1 });
    const { write } = on.app.services.db;
    const forget = write.updateTable("issues").set({ task_count: null, completed_task_count: null });
    await forget.where("project_id", "=", at.id).execute();
    assert.deepEqual(await countsInList(), { count: 0, completed_count: 0 }, "of an older one, the beginning counts");
  });

  test("an item has at most a hundred labels, however many requests name them", async () => {
    const at = await on.project();
    const { iid } = await on.create(at, { labels: Array.from({ length: 60 }, (_, n) => `a${n},`) });
    const more = Array.from({ length: 41 }, (_, n) => `b${n}`).join();
    const refused = await on.put(at, iid, { add_labels: more }, at.user);
    assert.equal(refused.status, 422, refused.text);
    assert.match(refused.body.message, /at most 100 labels/);
    const both = accepted(await on.put(at, iid, { add_labels: more, remove_labels: "a0" }, at.user), 200);
    assert.equal(both.labels.length, 100);
    assert.equal(accepted(await on.put(at, iid, { labels: more }, at.user), 200).labels.length, 41);
  });

  test("labels with long descriptions on a whole page lose these, and the answer says so", async () => {
    const at = await on.publicProject();
    await sql`with own as (
        insert into labels (project_id, name, color, description)
        select ${at.id}, 'l' || k, '#000000', repeat('"', 2000) from generate_series(1, 150) k returning id
      ), made as (
        insert into issues (project_id, iid, title) select ${at.id}, k, 'Full' from generate_series(1, 10) k returning id
      )
      insert into label_links (issue_id, label_id) select made.id, own.id from made, own`.execute(
      on.app.services.db.write,
    );
    const all = await on.app.get(`${at.issues}?with_labels_details=true`);
    assert.deepEqual([all.status, all.headers["x-truncated"]], [200, "true"]);
    assert.deepEqual(
      all.body.map(({ labels }: { labels: unknown[] }) => labels.length),
      Array.from({ length: 10 }, () => 100),
    );
    assert.ok(all.body.every((issue: any) => issue.labels.every((label: any) => label.description === null)));
    const few = await on.app.get(`${at.issues}?with_labels_details=true&per_page=1`);
    assert.deepEqual([few.headers["x-truncated"], few.body[0].labels[0].description.length], [undefined, 2000]);
  });

  test("a label of a group that the issue has is not doubled by one of the project", async () => {
    const at = await on.project();
    const label = { group_id: at.groupId, name: "shared", color: "#000000" };
    await on.app.services.db.write.insertInto("labels").values(label).execute();
    const { iid } = await on.create(at, { labels: "shared" });
    await on.app.services.db.write
      .insertInto("labels")
      .values({ project_id: at.id, name: "shared", color: "#000000" })
      .execute();
    const { labels } = accepted(await on.put(at, iid, { add_labels: "shared" }, at.user), 200);
    assert.deepEqual(labels, ["shared"]);
    assert.deepEqual(accepted(await on.put(at, iid, { remove_labels: "shared" }, at.user), 200).labels, []);
  });

  test("state events close and reopen, once", async () => {
    const at = await on.project();
    const { iid } = await on.create(at);
    const closed = accepted(await on.put(at, iid, { state_event: "close" }, at.user), 200);
    assert.deepEqual([closed.state, closed.closed_by.id], ["closed", at.user.id]);
    assert.notEqual(closed.closed_at, null);
    const other = await on.member(at, "reporter");
    assert.deepEqual(accepted(await on.put(at, iid, { state_event: "close" }, other), 200), {
      ...closed,
      subscribed: false,
    });
    const open = accepted(await on.put(at, iid, { state_event: "reopen" }, other), 200);
    assert.deepEqual([open.state, open.closed_at, open.closed_by], ["opened", null, null]);
  });

  test("the time of change moves only with a change", async () => {
    const at = await on.project();
    const made = await on.create(at, { labels: "a", assignee_ids: [at.user.id] });
    const same = { title: made.title, labels: "a", assignee_ids: [at.user.id], state_event: "reopen", weight: null };
    assert.equal(accepted(await on.put(at, made.iid, same, at.user), 200).updated_at, made.updated_at);
    for (const change of [{ labels: "b" }, { assignee_ids: [] }, { weight: 0 }, { state_event: "close" }]) {
      const before = (await on.get(`${at.issues}/${made.iid}`, at.user)).updated_at;
      const { updated_at } = accepted(await on.put(at, made.iid, change, at.user), 200);
      assert.ok(updated_at > before, JSON.stringify(change));
    }
  });

  test("authors and assignees change text and state; nobody else without the role", async () => {
    const at = await on.publicProject();
    const author = await on.app.makeUser();
    const assignee = await on.app.makeUser();
    const { iid } = await on.create(at, { title: "Mine" }, author);
    await on.put(at, iid, { assignee_ids: [assignee.id] }, at.user);
    const everything = {
      ...{ title: "Better", description: "x", state_event: "close", labels: "l", add_labels: "l", remove_labels: "m" },
      ...{ weight: 1, due_date: "2031-01-01", start_date: "2031-01-01", assignee_ids: [] },
      ...{ discussion_locked: true, confidential: true, issue_type: "task" },
    };
    const limited = [
      ...["add_labels", "assignee_ids", "discussion_locked", "due_date", "labels", "remove_labels"],
      ...["start_date", "weight"],
    ];
    const byAssignee = await on.put(at, iid, everything, assignee);
    assert.deepEqual(ignoredIn(byAssignee), [...limited, "confidential", "issue_type"].toSorted());
    assert.deepEqual([byAssignee.body.title, byAssignee.body.state], ["Better", "closed"]);
    const byAuthor = await on.put(at, iid, everything, author);
    assert.deepEqual(ignoredIn(byAuthor), limited);
    assert.deepEqual([byAuthor.body.confidential, byAuthor.body.issue_type], [true, "task"]);
    assert.deepEqual([byAuthor.body.labels, byAuthor.body.weight], [[], null]);
    accepted(await on.put(at, iid, { confidential: false }, at.user), 200);
    for (const user of [await on.app.makeUser(), await on.member(at, "guest")]) {
      const refused = await on.put(at, iid, { title: "Worse" }, user);
      assert.equal(refused.status, 403);
      assert.match(refused.text, /at least the Planner role/);
    }
  });

  test("the author makes an issue confidential, and only those who manage issues end that", async () => {
    const at = await on.publicProject();
    const author = await on.app.makeUser();
    const { iid } = await on.create(at, { title: "Mine" }, author);
    for (const [user, confidential, after] of [
      [author, true, true],
      [author, false, true],
      [at.user, false, false],
      [author, false, false],
      [at.user, true, true],
      [author, false, true],
    ] as const) {
      const put = await on.put(at, iid, { title: "Mine", confidential }, user);
      assert.equal(accepted(put, 200).confidential, after);
      const isIgnored = user === author && !confidential && after;
      assert.deepEqual(ignoredIn(put), [isIgnored ? "confidential" : ""]);
    }
  });

  test("at least one parameter is needed", async () => {
    const at = await on.project();
    const { iid } = await on.create(at);
    const { status, body } = await on.put(at, iid, {}, at.user);
    assert.equal(status, 400);
    assert.match(body.error, /at least one parameter must be provided/);
  });

  test("deletion is for Planners and Owners", async () => {
    const at = await on.project("planner");
    const roles = ["guest", "reporter", "developer", "maintainer"] as const;
    const { iid } = await on.create(at, { labels: "a", assignee_ids: [at.user.id] });
    for (const role of roles) {
      const { token } = await on.member(at, role);
      assert.equal((await on.app.delete(`${at.issues}/${iid}`, { token })).status, 403, role);
    }
    const past = { "if-unmodified-since": "2020-01-01T00:00:00Z" };
    const { token } = at.user;
    assert.equal((await on.app.delete(`${at.issues}/${iid}`, { token, headers: past })).status, 412);
    assert.equal((await on.app.delete(`${at.issues}/${iid}`, { token })).status, 204);
    assert.equal((await on.app.delete(`${at.issues}/${iid}`, { token })).status, 404);
    const owner = await on.member(at, "owner");
    const second = await on.create(at);
    assert.equal(second.iid, 2);
    assert.equal((await on.app.delete(`${at.issues}/2`, { token: owner.token })).status, 204);
  });
});
