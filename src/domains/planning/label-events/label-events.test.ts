import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { linkApp, type LinkApp } from "#domains/planning/links/test-support.ts";
import { testApp, type TestUser } from "#test/support/app.ts";

describe("label events", () => {
  let links: LinkApp;
  let user: TestUser;
  before(async () => {
    links = await linkApp();
    user = await links.app.makeUser();
  });
  after(() => links.app.close());

  const call = (path: string, { token } = user) => links.app.get(path, { token });
  const EVENTS = "resource_label_events";

  async function labelledIssue(given: object = {}) {
    const project = await links.project(user, "owner", given);
    const { body } = await links.app.post(`/projects/${project}/issues`, {
      token: user.token,
      payload: { title: "Storm", labels: "one,two" },
    });
    return { project, issue: body, path: `/projects/${project}/issues/${body.iid}` };
  }

  async function labelledEpic() {
    const group = await links.group(user, "owner");
    const { body } = await links.app.post(`/groups/${group}/epics`, {
      token: user.token,
      payload: { title: "Voyage", labels: "one,two" },
    });
    return { group, epic: body, path: `/groups/${group}/epics` };
  }

  test("tell who added and removed which label, the oldest first", async () => {
    const { issue, path } = await labelledIssue();
    await links.app.put(path, { token: user.token, payload: { labels: "two,three" } });
    const { body, status } = await call(`${path}/${EVENTS}`);
    assert.equal(status, 200);
    const told = (event: { action: string; label: { name: string } }) => `${event.action} ${event.label.name}`;
    assert.deepEqual(body.map(told), ["add one", "add two", "add three", "remove one"]);
    // Those of one change have the same time.
    assert.equal(body[2].created_at, body[3].created_at);
    const [first] = body;
    assert.deepEqual([first.user.username, first.resource_type, first.resource_id], [user.username, "Issue", issue.id]);
    assert.deepEqual(Object.keys(first), [
      ...["id", "user", "created_at", "resource_type", "resource_id", "label", "action"],
    ]);
    for (const name of ["id", "name", "username", "state", "avatar_url", "web_url"])
      assert.ok(name in first.user, name);
    assert.deepEqual(Object.keys(first.label).toSorted(), [
      ...["color", "description", "description_html", "id", "name", "text_color"],
    ]);
    assert.deepEqual((await call(`${path}/${EVENTS}/${first.id}`)).body, first);
    assert.equal((await call(`${path}/${EVENTS}?per_page=1&page=4`)).body[0].action, "remove");
  });

  test("those of an epic are found by its id, or else by its number", async () => {
    const { epic, path } = await labelledEpic();
    const byId = await call(`${path}/${epic.id}/${EVENTS}`);
    assert.deepEqual([byId.body.length, byId.body[0].resource_type, byId.body[0].resource_id], [2, "Epic", epic.id]);
    assert.deepEqual((await call(`${path}/${epic.iid}/${EVENTS}`)).body, byId.body);
    assert.equal((await call(`${path}/${epic.id}/${EVENTS}/${byId.body[1].id}`)).body.label.name, "two");
    assert.match(byId.headers["deprecation"] ?? "", /^@\d+$/);
    const other = await labelledEpic();
    assert.equal((await call(`${path}/${other.epic.id}/${EVENTS}`)).status, 404, "the id of another group's epic");
    assert.equal((await call(`${path}/${other.epic.id + 1000}/${EVENTS}`)).status, 404);
  });

  test("an id comes before a number that is the same", async () => {
    const { group, epic, path } = await labelledEpic();
    const { id } = await links.epic(group, { iid: epic.id });
    assert.equal((await call(`${path}/${epic.id}/${EVENTS}`)).body[0].resource_id, epic.id);
    assert.deepEqual((await call(`${path}/${id}/${EVENTS}`)).body, []);
  });

  test("those of a confidential epic are as hidden as it is", async () => {
    const { group, epic, path } = await labelledEpic();
    const guest = await links.app.makeUser();
    await links.insert.member(guest, { group_id: group }, "guest");
    const [{ id }] = (await call(`${path}/${epic.id}/${EVENTS}`, guest)).body;
    await links.app.put(`${path}/${epic.iid}`, { token: user.token, payload: { confidential: true } });
    for (const below of [EVENTS, `${EVENTS}/${id}`]) {
      const hidden = await call(`${path}/${epic.id}/${below}`, guest);
      assert.deepEqual([hidden.status, hidden.text], [404, (await call(`${path}/999999999/${below}`, guest)).text]);
      assert.equal((await call(`${path}/${epic.iid}/${below}`, guest)).status, 404);
    }
  });

  test("an event of something else is missing", async () => {
    const [one, other] = [await labelledIssue(), await labelledIssue()];
    const [{ id }] = (await call(`${other.path}/${EVENTS}`)).body;
    const { status, body } = await call(`${one.path}/${EVENTS}/${id}`);
    assert.deepEqual([status, body], [404, { message: "404 ResourceLabelEvent Not Found" }]);
  });

  test("everyone must be signed in, also in public", async () => {
    const { path } = await labelledIssue({ visibility: 20 });
    assert.equal((await links.app.get(`${path}/${EVENTS}`)).status, 401);
    assert.equal((await links.app.get(`${path}/${EVENTS}/1`)).status, 401);
    const stranger = await links.app.makeUser();
    assert.equal((await call(`${path}/${EVENTS}`, stranger)).body.length, 2);
  });

  test("those of a confidential issue are as hidden as it is", async () => {
    const { project, path } = await labelledIssue();
    const guest = await links.app.makeUser();
    await links.insert.member(guest, { project_id: project }, "guest");
    assert.equal((await call(`${path}/${EVENTS}`, guest)).status, 200);
    await links.app.put(path, { token: user.token, payload: { confidential: true } });
    const hidden = await call(`${path}/${EVENTS}`, guest);
    assert.equal(hidden.status, 404);
    assert.equal(hidden.text, (await call(`/projects/${project}/issues/99999/${EVENTS}`, guest)).text);
  });

  test("a deleted label leaves null", async () => {
    const { project, path } = await labelledIssue();
    await links.app.delete(`/projects/${project}/labels/one`, { token: user.token });
    const { body } = await call(`${path}/${EVENTS}`);
    assert.deepEqual(
      body.map(({ label }: { label: { name: string } | null }) => label?.name ?? null),
      [null, "two"],
    );
    assert.equal((await call(`${path}/${EVENTS}/${body[0].id}`)).body.label, null);
  });

  test("S-48: an event whose label belongs to a hidden project is left out, and the page is full", async () => {
    const { issue, path } = await labelledIssue();
    const hidden = await links.insert.project(await links.insert.group(undefined, { visibility: 0 }));
    const { write } = links.app.services.db;
    const { id: label } = await write
      .insertInto("labels")
      .values({ project_id: hidden, name: "secret", color: "#123456" })
      .returning("id")
      .executeTakeFirstOrThrow();
    const { id } = await write
      .insertInto("label_events")
      .values({ issue_id: issue.id, user_id: user.id, label_id: label, action: "add" })
      .returning("id")
      .executeTakeFirstOrThrow();
    await links.app.put(path, { token: user.token, payload: { add_labels: "three" } });
    const listed = await call(`${path}/${EVENTS}?per_page=3`);
    assert.deepEqual([listed.body.length, listed.headers["x-total"]], [3, "3"]);
    assert.ok(!listed.text.includes("secret"));
    assert.equal((await call(`${path}/${EVENTS}/${id}`)).status, 404);
    await links.insert.member(user, { project_id: hidden }, "guest");
    assert.equal((await call(`${path}/${EVENTS}/${id}`)).body.label.name, "secret");
  });

  test("those of epics need the plan Premium, those of issues do not", async () => {
    const free = await testApp({ env: { FAIRLEAD_PLAN: "free" } });
    try {
      const { token } = await free.makeUser();
      assert.equal((await free.get(`/groups/1/epics/1/${EVENTS}`, { token })).status, 403);
      assert.equal((await free.get(`/groups/1/epics/1/${EVENTS}/1`, { token })).status, 403);
      assert.equal((await free.get(`/projects/999999999/issues/1/${EVENTS}`, { token })).status, 404);
    } finally {
      await free.close();
    }
  });
});
