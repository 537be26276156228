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
});
