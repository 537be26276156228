import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp } from "#test/support/app.ts";
import { epicsOn } from "./test-support.ts";

describe("creating epics", () => {
  let app: TestApp;
  let on: ReturnType<typeof epicsOn>;
  before(async () => {
    app = await testApp();
    on = epicsOn(app);
  });
  after(() => app.close());

  test("the response has every field, and the epic reads the same", async () => {
    const group = await on.epicGroup();
    const made = await on.created(group);
    const { full_path: path } = (await app.get(`/groups/${group.id}`, { token: group.owner.token })).body;
    const site = "http://localhost";
    const address = `${site}/api/v4/groups/${group.id}`;
    const { id, created_at, updated_at, author, ...rest } = made;
    assert.equal(created_at, updated_at);
    assert.ok(id > 0);
    assert.equal(author.username, group.owner.username);
    assert.deepEqual(rest, {
      iid: 1,
      group_id: group.id,
      parent_id: null,
      parent_iid: null,
      title: "Voyage",
      description: null,
      confidential: false,
      color: "#1068bf",
      text_color: "#FFFFFF",
      start_date: null,
      start_date_is_fixed: false,
      start_date_fixed: null,
      start_date_from_inherited_source: null,
      start_date_from_milestones: null,
      end_date: null,
      due_date: null,
      due_date_is_fixed: false,
      due_date_fixed: null,
      due_date_from_inherited_source: null,
      due_date_from_milestones: null,
      state: "opened",
      web_url: `${site}/groups/${path}/-/epics/1`,
      web_edit_url: `${site}/groups/${path}/-/epics/1/edit`,
      references: { short: "&1", relative: "&1", full: `${path}&1` },
      closed_at: null,
      labels: [],
      upvotes: 0,
      downvotes: 0,
      imported: false,
      imported_from: "none",
      work_item_id: null,
      _links: { self: `${address}/epics/1`, epic_issues: `${address}/epics/1/issues`, group: address, parent: null },
      subscribed: true,
    });
    assert.deepEqual((await on.get(group, 1)).body, made);
  });

  test("every parameter counts", async () => {
    const group = await on.epicGroup();
    const parent = await on.created(group, { confidential: true });
    const fields = {
      title: "Round the Horn",
      description: "With a following wind",
      color: "#ffff00",
      confidential: true,
      start_date_fixed: "2030-01-02",
      start_date_is_fixed: true,
      due_date_fixed: "2030-02-03",
      due_date_is_fixed: true,
      parent_id: parent.id,
      created_at: "2001-02-03T04:05:06.789Z",
    };
    const made = await on.created(group, { ...fields, labels: "red, blue,red" });
    for (const [name, value] of Object.entries(fields)) assert.deepEqual(made[name], value, name);
    assert.deepEqual([made.start_date, made.due_date, made.end_date], ["2030-01-02", "2030-02-03", "2030-02-03"]);
    assert.deepEqual([made.labels, made.text_color, made.iid], [["blue", "red"], "#1F1E24", 2]);
    assert.equal(made.parent_iid, parent.iid);
    assert.equal(made["_links"].parent, parent["_links"].self);
    assert.deepEqual((await on.get(group, made.iid)).body, made);
  });

  test("a colour may be short or a name, and is stored in one form", async () => {
    const group = await on.epicGroup();
    for (const [color, stored] of [
      ["#ABCDEF", "#abcdef"],
      ["#0fa", "#00ffaa"],
      ["tomato", "#ff6347"],
    ]) {
      assert.equal((await on.created(group, { color })).color, stored);
    }
    const { status, body } = await on.post(group, { color: "no colour" });
    assert.deepEqual([status, body], [400, { message: { color: ["must be a valid color code"] } }]);
  });

  test("invalid parameters are refused", async () => {
    const group = await on.epicGroup();
    for (const [fields, error] of [
      [{ title: "" }, "title is empty"],
      [{ title: "x".repeat(256) }, "title is too long (maximum is 255 characters)"],
      [{ start_date_fixed: "2030-02-30" }, "start_date_fixed is invalid"],
      [{ due_date_fixed: "soon" }, "due_date_fixed is invalid"],
      [{ confidential: "perhaps" }, "confidential is invalid"],
      [{ created_at: "yesterday" }, "created_at is invalid"],
    ] as const) {
      const { status, body } = await on.post(group, fields);
      assert.deepEqual([status, body], [400, { error }]);
    }
    assert.deepEqual((await app.post(group.epics, { token: group.owner.token })).body, { error: "title is missing" });
    assert.equal((await on.list(group)).body.length, 0, "nothing was created");
    assert.equal((await on.created(group)).iid, 1, "and no number was used");
  });

  test("the time of creation is for Owners; the others are told that it was ignored", async () => {
    const group = await on.epicGroup();
    const planner = await on.inRole(group, "planner");
    const { status, body, headers } = await on.post(group, { created_at: "2001-02-03T04:05:06.789Z" }, planner);
    assert.equal(status, 201);
    assert.notEqual(body.created_at, "2001-02-03T04:05:06.789Z");
    assert.equal(headers["x-ignored-parameters"], "created_at");
  });

  test("unknown labels are created in the group; those of the groups above are used", async () => {
    const group = await on.epicGroup();
    const below = await on.epicGroup(group);
    const planner = await on.inRole(group, "planner");
    await on.created(group, { labels: ["known"] });
    await on.created(below, { labels: ["known", "new"] }, planner);
    const labels = await app.services.db.write
      .selectFrom("labels")
      .select(["group_id", "name"])
      .where("group_id", "in", [group.id, below.id])
      .orderBy("name")
      .execute();
    assert.deepEqual(labels, [
      { group_id: group.id, name: "known" },
      { group_id: below.id, name: "new" },
    ]);
  });

  test("50 at once get the numbers 1 to 50", async () => {
    const group = await on.epicGroup();
    const made = await Promise.all(Array.from({ length: 50 }, () => on.created(group)));
    assert.deepEqual(
      made.map(({ iid }) => iid).toSorted((a, b) => a - b),
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
  });

  test("the plan comes right after the token", async () => {
    const free = await testApp({ env: { FAIRLEAD_PLAN: "free" } });
    try {
      const onFree = epicsOn(free);
      const group = await onFree.epicGroup();
      for (const { status, body } of [
        await onFree.post(group),
        await onFree.list(group),
        await onFree.get(group, 1),
        await onFree.put(group, 1, { title: "x" }),
        await free.get("/groups/0/epics", { token: group.owner.token }),
      ])
        assert.deepEqual([status, String(body.message).slice(0, 13)], [403, "403 Forbidden"]);
      assert.equal((await free.post(group.epics)).status, 401);
    } finally {
      await free.close();
    }
  });
});
