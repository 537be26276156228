import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { VISIBILITIES } from "#access/roles.ts";
import { ignoredIn, type IssuesApp, issuesApp } from "./test-support.ts";

describe("creating issues", () => {
  let on: IssuesApp;
  before(async () => {
    on = await issuesApp();
  });
  after(() => on.app.close());

  test("an issue has what its request says", async () => {
    const at = await on.publicProject();
    const made = await on.create(at, {
      title: "First",
      description: "- [ ] one\n- [x] two\n\n1. [X] three\n- [y] none",
      labels: "urgent,  bug,bug",
      assignee_ids: [at.user.id],
      start_date: "2030-01-01",
      due_date: "2030-01-31",
      weight: 3,
      confidential: true,
      discussion_locked: true,
      issue_type: "incident",
    });
    assert.deepEqual(await on.get(`${at.issues}/1`, at.user), made);
    const { id, iid, labels, assignee, assignees, author, type, weight, confidential, issue_type } = made;
    assert.equal(iid, 1);
    assert.deepEqual(labels, ["bug", "urgent"]);
    assert.deepEqual([assignee.id, author.id, assignees.length], [at.user.id, at.user.id, 1]);
    assert.deepEqual([type, issue_type, weight, confidential], ["INCIDENT", "incident", 3, true]);
    assert.deepEqual([made.start_date, made.due_date, made.discussion_locked], ["2030-01-01", "2030-01-31", true]);
    assert.deepEqual(made.task_completion_status, { count: 3, completed_count: 2 });
    assert.equal(made.task_status, "2 of 3 checklist items completed");
    assert.equal(made.references.short, "#1");
    assert.equal(made.references.relative, "#1");
    assert.match(made.references.full, /^w-[^/]+\/w-[^/]+#1$/);
    assert.ok(made.web_url.endsWith("/-/issues/1"));
    assert.ok(made["_links"].self.endsWith(`/projects/${at.id}/issues/1`));
    assert.equal(made.subscribed, true);
    const { rows } = await eventsOf(id);
    assert.deepEqual(rows, ["add bug", "add urgent"]);
  });

  async function eventsOf(issueId: number) {
    const rows = await on.app.services.db.write
      .selectFrom("label_events as e")
      .innerJoin("labels as l", "l.id", "e.label_id")
      .select(["e.action", "l.name"])
      .where("e.issue_id", "=", issueId)
      .orderBy("l.name")
      .execute();
    return { rows: rows.map(({ action, name }) => `${action} ${name}`) };
  }

  test("labels come as a list too, from the project first, then from the nearest group", async () => {
    const at = await on.project();
    const { db } = on.app.services;
    const above = { group_id: at.groupId, name: "shared", color: "#000000" };
    const { id } = await db.write.insertInto("labels").values(above).returning("id").executeTakeFirstOrThrow();
    const { labels } = await on.create(at, { labels: ["shared", "own, two"] });
    assert.deepEqual(labels, ["own", "shared", "two"]);
    const [listed] = await on.get(`${at.issues}?with_labels_details=true`, at.user);
    assert.equal(listed.labels.find(({ name }: { name: string }) => name === "shared").id, id);
    assert.deepEqual(Object.keys(listed.labels[0]).toSorted(), [
      ...["color", "description", "description_html", "id", "name", "text_color"],
    ]);
  });

  test("those who do not manage issues create them, and what they may not set is ignored", async () => {
    const at = await on.publicProject();
    const stranger = await on.app.makeUser();
    for (const user of [stranger, await on.member(at, "guest")]) {
      const reply = await on.post(
        at,
        {
          ...{ title: "Help", confidential: true, labels: "nosuch", assignee_ids: [user.id], assignee_id: user.id },
          ...{ due_date: "2030-01-01", start_date: "2030-01-01", weight: 1, discussion_locked: true },
          ...{ iid: 77, created_at: "2020-01-01" },
        },
        user,
      );
      assert.equal(reply.status, 201);
      const { labels, assignees, due_date, start_date, weight, confidential, iid } = reply.body;
      assert.deepEqual([labels, assignees, due_date, start_date, weight], [[], [], null, null, null]);
      assert.equal(confidential, true);
      assert.notEqual(iid, 77);
      assert.deepEqual(ignoredIn(reply), [
        ...["assignee_id", "assignee_ids", "created_at", "discussion_locked", "due_date", "iid", "labels"],
        ...["start_date", "weight"],
      ]);
    }
    const { db } = on.app.services;
    assert.deepEqual(await db.write.selectFrom("labels").select("name").where("project_id", "=", at.id).execute(), []);
  });

  test("only people who may use the issues of the project can be assigned", async () => {
    const at = await on.project();
    const member = await on.member(at, "guest");
    const stranger = await on.app.makeUser();
    const blocked = await on.app.makeUser({ state: "blocked" });
    const admin = await on.app.makeUser({ admin: true });
    await on.insert.member(blocked, { project_id: at.id }, "developer");
    const ids = [stranger.id, member.id, blocked.id, admin.id, 4503599627370495];
    const { assignees } = await on.create(at, { assignee_ids: ids });
    const assigned = assignees.map(({ id }: { id: number }) => id);
    assert.deepEqual(new Set(assigned), new Set([member.id, admin.id]));
    const inside = await on.project("planner", { visibility: VISIBILITIES.internal });
    const external = await on.app.makeUser({ external: true });
    const { assignees: seen } = await on.create(inside, { assignee_ids: [stranger.id, external.id] });
    assert.deepEqual(
      seen.map(({ id }: { id: number }) => id),
      [stranger.id],
    );
  });

  test("Owners choose the number and the time; a number is taken once, and the next ones are greater", async () => {
    const at = await on.project("owner");
    const { iid, created_at } = await on.create(at, { iid: 40, created_at: "2020-02-03T04:05:06Z" });
    assert.deepEqual([iid, created_at], [40, "2020-02-03T04:05:06.000Z"]);
    const again = await on.post(at, { title: "Again", iid: 40 }, at.user);
    assert.deepEqual([again.status, again.body], [409, { message: "Duplicated issue" }]);
    assert.equal((await on.create(at, { iid: 7 })).iid, 7);
    assert.equal((await on.create(at)).iid, 41);
  });

  test("refused values", async () => {
    const at = await on.project();
    const refuse = async (payload: object, expected: number) =>
      assert.equal((await on.post(at, payload, at.user)).status, expected, JSON.stringify(payload));
    await refuse({}, 400);
    await refuse({ title: "" }, 400);
    await refuse({ title: "x".repeat(256) }, 400);
    await refuse({ title: "x", weight: -1 }, 400);
    await refuse({ title: "x", weight: 2 ** 31 }, 400);
    await refuse({ title: "x", issue_type: "epic" }, 400);
    await refuse({ title: "x", due_date: "soon" }, 400);
    await refuse({ title: "x", labels: "l".repeat(256) }, 400);
    await refuse({ title: "x", labels: Array.from({ length: 101 }, (_, n) => `l${n}`) }, 400);
    await refuse({ title: "x", labels: Array.from({ length: 51 }, (_, n) => `l${n},m${n}`) }, 400);
    await refuse({ title: "x", start_date: "2030-02-02", due_date: "2030-02-01" }, 400);
  });

  test("fifty writers get numbers without gaps", async () => {
    const at = await on.publicProject();
    const made = await Promise.all(
      Array.from({ length: 50 }, (_, n) => on.create(at, { title: `n${n}`, labels: "l" })),
    );
    const iids = made.map(({ iid }) => iid).toSorted((a, b) => a - b);
    assert.deepEqual(
      iids,
      iids.map((_, index) => index + 1),
    );
  });
});
