import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp } from "#test/support/app.ts";
import { epicsOn } from "./test-support.ts";

describe("changing and deleting epics", () => {
  let app: TestApp;
  let on: ReturnType<typeof epicsOn>;
  before(async () => {
    app = await testApp();
    on = epicsOn(app);
  });
  after(() => app.close());

  test("every field can be changed, and cleared if it may be empty", async () => {
    const group = await on.epicGroup();
    const { iid } = await on.created(group);
    const fields = {
      title: "Home",
      description: "By Christmas",
      color: "#000000",
      confidential: true,
      start_date_fixed: "2030-01-02",
      start_date_is_fixed: true,
      due_date_fixed: "2030-02-03",
      due_date_is_fixed: true,
    };
    const { status, body } = await on.put(group, iid, fields);
    assert.equal(status, 200);
    for (const [name, value] of Object.entries(fields)) assert.equal(body[name], value, name);
    assert.deepEqual((await on.get(group, iid)).body, body);
    const cleared = await on.put(group, iid, { description: null, start_date_fixed: null, due_date_fixed: "" });
    assert.deepEqual(
      [cleared.body.description, cleared.body.start_date, cleared.body.due_date_fixed, cleared.body.title],
      [null, null, null, "Home"],
    );
  });

  test("at least one parameter is needed", async () => {
    const group = await on.epicGroup();
    const { iid } = await on.created(group);
    const { status, body } = await on.put(group, iid, { unknown: 1 });
    assert.equal(status, 400);
    assert.match(body.error, /^title, description, .* are missing, at least one parameter must be provided$/);
  });

  test("a change that changes nothing leaves the time of change", async () => {
    const group = await on.epicGroup();
    const made = await on.created(group, { labels: "red" });
    const same = { title: made.title, labels: "red", state_event: "reopen", confidential: false, parent_id: null };
    assert.deepEqual((await on.put(group, made.iid, same)).body, made);
    const { body } = await on.put(group, made.iid, { labels: "" });
    assert.deepEqual(body.labels, []);
    assert.ok(body.updated_at > made.updated_at);
  });

  test("it is closed and opened again", async () => {
    const group = await on.epicGroup();
    const { iid } = await on.created(group);
    const closed = (await on.put(group, iid, { state_event: "close" })).body;
    assert.equal(closed.state, "closed");
    assert.ok(closed.closed_at);
    assert.equal((await on.put(group, iid, { state_event: "close" })).body.closed_at, closed.closed_at);
    const opened = (await on.put(group, iid, { state_event: "reopen" })).body;
    assert.deepEqual([opened.state, opened.closed_at], ["opened", null]);
    const { status, body } = await on.put(group, iid, { state_event: "burn" });
    assert.deepEqual([status, body], [400, { error: "state_event does not have a valid value" }]);
  });

  test("labels are replaced, added and removed, each with its event", async () => {
    const group = await on.epicGroup();
    const { id, iid } = await on.created(group, { labels: "a,b" });
    const labelsAfter = async (change: object) => (await on.put(group, iid, change)).body.labels;
    assert.deepEqual(await labelsAfter({ add_labels: "c" }), ["a", "b", "c"]);
    assert.deepEqual(await labelsAfter({ remove_labels: ["a", "x"] }), ["b", "c"]);
    assert.deepEqual(await labelsAfter({ labels: ["d"], add_labels: "b" }), ["b", "d"]);
    assert.deepEqual(await labelsAfter({ labels: null }), []);
    const events = await app.services.db.write
      .selectFrom("label_events as t")
      .innerJoin("labels as l", "l.id", "t.label_id")
      .select(["t.action", "l.name", "t.user_id"])
      .where("t.epic_id", "=", id)
      .orderBy("t.id")
      .execute();
    assert.deepEqual(
      events.map(({ action, name }) => `${action} ${name}`),
      ["add a", "add b", "add c", "remove a", "add d", "remove c", "remove b", "remove d"],
    );
    assert.ok(events.every(({ user_id }) => user_id === group.owner.id));
    const detailed = await app.get(`${group.epics}/${iid}?with_labels_details=true`, { token: group.owner.token });
    assert.deepEqual(detailed.body.labels, []);
  });

  test("labels come with their details if asked for", async () => {
    const group = await on.epicGroup();
    const { iid } = await on.created(group, { labels: "a" });
    const query = "with_labels_details=true";
    const single = await app.get(`${group.epics}/${iid}?${query}`, { token: group.owner.token });
    const [{ labels }] = (await on.list(group, query)).body;
    for (const [label] of [single.body.labels, labels]) {
      const { id, ...rest } = label;
      assert.ok(id > 0);
      assert.deepEqual(rest, {
        name: "a",
        description: null,
        description_html: "",
        color: "#6699cc",
        text_color: "#1F1E24",
      });
    }
  });

  test("Planners and Owners delete it, the roles between may not", async () => {
    const group = await on.epicGroup();
    const remove = async (role: Parameters<typeof on.inRole>[1]) => {
      const { iid } = await on.created(group);
      const { token } = await on.inRole(group, role);
      const { status } = await app.delete(`${group.epics}/${iid}`, { token });
      return [role, status, (await on.get(group, iid)).status];
    };
    for (const role of ["planner", "owner"] as const) assert.deepEqual(await remove(role), [role, 204, 404]);
    for (const role of ["guest", "reporter", "developer", "maintainer"] as const)
      assert.deepEqual(await remove(role), [role, 403, 200]);
  });

  test("its child epics and issues stay, its labels, links and events go", async () => {
    const group = await on.epicGroup();
    const epic = await on.created(group, { labels: "a" });
    const child = await on.created(group, { parent_id: epic.id });
    const project = await on.project(group.id);
    const { body: issue } = await app.post(`/projects/${project}/issues`, {
      token: group.owner.token,
      payload: { title: "Caulk" },
    });
    const added = await app.post(`${group.epics}/${epic.iid}/issues/${issue.id}`, { token: group.owner.token });
    assert.equal(added.status, 201);
    const { status } = await app.delete(`${group.epics}/${epic.iid}`, { token: group.owner.token });
    assert.equal(status, 204);
    const { body } = await on.get(group, child.iid);
    assert.deepEqual([body.parent_id, body.parent_iid, body["_links"].parent], [null, null, null]);
    const { write } = app.services.db;
    for (const table of ["epic_issues", "label_links", "label_events"] as const) {
      const left = await write.selectFrom(table).select("epic_id").where("epic_id", "=", epic.id).execute();
      assert.deepEqual(left, [], table);
    }
    const kept = await app.get(`/projects/${project}/issues/${issue.iid}`, { token: group.owner.token });
    assert.deepEqual([kept.status, kept.body.epic, kept.body.epic_iid], [200, null, null]);
    assert.equal((await on.created(group)).iid, child.iid + 1, "the number is not used again");
  });

  test("a condition on the time of change is honoured, and the deletion is audited", async () => {
    const group = await on.epicGroup();
    const { id, iid } = await on.created(group);
    const { token } = group.owner;
    const headers = { "if-unmodified-since": "Mon, 01 Jan 2001 00:00:00 GMT" };
    assert.equal((await app.delete(`${group.epics}/${iid}`, { token, headers })).status, 412);
    assert.equal((await on.get(group, iid)).status, 200);
    assert.equal((await app.delete(`${group.epics}/${iid}`, { token })).status, 204);
    const event = await app.services.db.write
      .selectFrom("audit_events")
      .select(["event", "target_name", "entity_id"])
      .where("target_type", "=", "Epic")
      .where("target_id", "=", id)
      .executeTakeFirst();
    assert.deepEqual({ ...event }, { event: "epic_deleted", target_name: `&${iid}`, entity_id: group.id });
  });

  test("an archived group is read-only", async () => {
    const group = await on.epicGroup();
    const { iid } = await on.created(group);
    await app.services.db.write.updateTable("namespaces").set({ archived: true }).where("id", "=", group.id).execute();
    const { token } = group.owner;
    for (const { status, body } of [
      await on.post(group),
      await on.put(group, iid, { title: "x" }),
      await app.delete(`${group.epics}/${iid}`, { token }),
    ])
      assert.deepEqual([status, body], [403, { message: "403 Forbidden - The group is archived" }]);
    assert.equal((await on.get(group, iid)).status, 200);
  });
});
