import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { TestUser } from "#test/support/app.ts";
import { type Item, linkApp, type LinkApp } from "./test-support.ts";

const ISSUE_FIELDS = [
  ...["id", "iid", "project_id", "created_at", "updated_at", "title", "state", "assignees", "assignee", "labels"],
  ...["author", "description", "milestone", "user_notes_count", "due_date", "web_url", "confidential", "weight"],
];
const LINK_FIELDS = ["issue_link_id", "link_type", "link_created_at", "link_updated_at"];
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe("issue links", () => {
  let links: LinkApp;
  let user: TestUser;
  let project: number;
  before(async () => {
    links = await linkApp();
    user = await links.app.makeUser();
    project = await links.project(user);
  });
  after(() => links.app.close());

  const get = (path: string, { token } = user) => links.app.get(path, { token });
  const list = async (item: Item, by = user) => (await get(`${item.path}/links`, by)).body;
  const pair = async () => [await links.issue(project), await links.issue(project)] as const;

  test("a link reads from the issue in the path, whichever end it is", async () => {
    for (const [sent, other] of [
      ["relates_to", "relates_to"],
      ["blocks", "is_blocked_by"],
      ["is_blocked_by", "blocks"],
    ] as const) {
      const [a, b] = await pair();
      const made = await links.linked(user, a, b, sent);
      assert.deepEqual([made.source_issue.id, made.target_issue.id, made.link_type], [a.id, b.id, sent]);
      assert.deepEqual((await get(`${a.path}/links/${made.id}`)).body, made);
      const back = (await get(`${b.path}/links/${made.id}`)).body;
      assert.deepEqual([back.id, back.source_issue.id, back.target_issue.id], [made.id, b.id, a.id]);
      assert.equal(back.link_type, other);
      const [seen] = await list(b);
      assert.deepEqual([seen.id, seen.issue_link_id, seen.link_type], [a.id, made.id, other]);
      assert.match(seen.link_created_at, /Z$/);
      assert.equal(seen.subscribed, false);
    }
  });

  test("the records have the documented fields", async () => {
    const [a, b] = await pair();
    const made = await links.linked(user, a, b);
    assert.deepEqual(Object.keys(made), ["id", "source_issue", "target_issue", "link_type"]);
    const [listed] = await list(a);
    const lacks = (record: object, names: readonly string[]) => names.filter((name) => !(name in record));
    assert.deepEqual(lacks(listed, [...ISSUE_FIELDS, "subscribed", ...LINK_FIELDS]), []);
    for (const issue of [made.source_issue, made.target_issue]) assert.deepEqual(lacks(issue, ISSUE_FIELDS), []);
    for (const time of [listed.link_created_at, listed.link_updated_at]) assert.match(time, TIME);
    assert.equal(listed.state, "opened");
  });

  test("links are listed by age, all of them on one page", async () => {
    const item = await links.issue(project);
    const others = await Promise.all(Array.from({ length: 25 }, () => links.issue(project)));
    for (const other of others) await links.linked(user, other, item);
    const found: { id: number }[] = await list(item);
    assert.deepEqual(
      found.map(({ id }) => id),
      others.map(({ id }) => id),
    );
    assert.equal((await get(`${item.path}/links?per_page=10&page=3`)).body.length, 5);
  });

  test("null and a blank name the project in the path, and a missing one is refused", async () => {
    const [a, b] = await pair();
    const send = (payload: object) => links.app.post(`${a.path}/links`, { token: user.token, payload });
    const refused = await send({});
    assert.equal(refused.status, 400);
    assert.deepEqual(refused.body, { error: "target_project_id is missing, target_issue_iid is missing" });
    const wrong = await send({ target_project_id: project, target_issue_iid: b.iid, link_type: "likes" });
    assert.deepEqual(wrong.body, { error: "link_type does not have a valid value" });
    const made = await send({ target_project_id: null, target_issue_iid: String(b.iid) });
    assert.deepEqual([made.status, made.body.link_type], [201, "relates_to"], "the default type");
    const c = await links.issue(project);
    const inQuery = `${a.path}/links?target_project_id=&target_issue_iid=${c.iid}&link_type=blocks`;
    assert.equal((await links.app.post(inQuery, { token: user.token })).body.link_type, "blocks");
  });

  test("a project that nothing has the id of is missing, and 0 is no exception", async () => {
    const [a, b] = await pair();
    for (const target_project_id of [0, "0", Number.MAX_SAFE_INTEGER, " "]) {
      const payload = { target_project_id, target_issue_iid: b.iid };
      const { status, body } = await links.app.post(`${a.path}/links`, { token: user.token, payload });
      assert.deepEqual([status, body], [404, { message: "404 Project Not Found" }], String(target_project_id));
    }
  });

  test("the type in a deletion is named as ignored", async () => {
    const [a, b] = await pair();
    const { id } = await links.linked(user, a, b);
    const { headers } = await links.app.delete(`${a.path}/links/${id}?link_type=blocks`, { token: user.token });
    assert.equal(headers["x-ignored-parameters"], "link_type");
  });

  test("the project of the target is named by its id or full path, and the type may be null", async () => {
    const [a, b] = await pair();
    const { path_with_namespace } = (await get(`/projects/${project}`)).body;
    for (const target_project_id of [String(project), path_with_namespace]) {
      const payload = { target_project_id, target_issue_iid: b.iid, link_type: null };
      const { status, body } = await links.app.post(`${a.path}/links`, { token: user.token, payload });
      assert.deepEqual([status, body.target_issue?.id, body.link_type], [201, b.id, "relates_to"]);
      await links.app.delete(`${a.path}/links/${body.id}`, { token: user.token });
    }
  });

  test("what is archived gets and loses no links, at either end", async () => {
    const other = await links.project(user, "owner");
    const [a, b, c] = [await links.issue(project), await links.issue(other), await links.issue(other)];
    const { id } = await links.linked(user, a, b);
    await links.app.services.db.write.updateTable("projects").set({ archived: true }).where("id", "=", other).execute();
    assert.equal((await links.link(user, a, c)).status, 403);
    assert.equal((await links.link(user, c, a)).status, 403);
    for (const { path } of [a, b])
      assert.equal((await links.app.delete(`${path}/links/${id}`, { token: user.token })).status, 403);
    assert.equal((await list(b)).length, 1);
  });

  test("a second link between two issues is a conflict, in any direction and type", async () => {
    const [a, b] = await pair();
    await links.linked(user, a, b, "blocks");
    for (const [from, to, type] of [
      [a, b, "blocks"],
      [b, a, "relates_to"],
    ] as const) {
      const { status, body } = await links.link(user, from, to, type);
      assert.deepEqual([status, body.message], [409, "Issue(s) already assigned"]);
    }
  });

  test("an issue is not linked to itself", async () => {
    const [a] = await pair();
    const { status, body } = await links.link(user, a, a);
    assert.deepEqual([status, body.message], [422, `#${a.iid} cannot be added: cannot be related to itself`]);
  });

  test("an issue has at most 100 links, also if many are created at once", async () => {
    const item = await links.issue(project);
    const others = await Promise.all(Array.from({ length: 104 }, () => links.issue(project)));
    const first = others.slice(0, 96);
    await links.app.services.db.write
      .insertInto("issue_links")
      .values(first.map(({ id }) => ({ source_id: id, target_id: item.id, link_type: "relates_to" as const })))
      .execute();
    const replies = await Promise.all(others.slice(96).map((other) => links.link(user, other, item)));
    assert.deepEqual(
      replies
        .map(({ status }) => String(status))
        .toSorted()
        .join(" "),
      "201 201 201 201 422 422 422 422",
    );
    assert.equal((await list(item)).length, 100);
    assert.equal((await links.link(user, item, first[0]!)).status, 409);
  });

  test("both issues must be the caller's to update", async () => {
    const guest = await links.app.makeUser();
    const theirs = await links.project(guest, "guest");
    await links.insert.member(guest, { project_id: project }, "planner");
    const own = await links.issue(theirs, { author_id: guest.id });
    const others = await links.issue(theirs);
    const [a, b] = await pair();
    const refused = await links.link(guest, a, others);
    assert.deepEqual(
      [refused.status, refused.body.message],
      [403, "403 Forbidden - Requires the right to update both issues"],
    );
    assert.equal((await links.link(guest, others, a)).status, 403);
    await links.linked(guest, own, a);
    const { id } = await links.linked(guest, a, b);
    const reader = await links.app.makeUser();
    await links.insert.member(reader, { project_id: project }, "guest");
    assert.equal((await get(`${a.path}/links/${id}`, reader)).status, 200);
    assert.equal((await links.app.delete(`${a.path}/links/${id}`, { token: reader.token })).status, 403);
  });

  test("a deleted link is shown once more and gone for both, whatever link_type says", async () => {
    const [a, b] = await pair();
    const { id } = await links.linked(user, a, b, "blocks");
    const path = `${b.path}/links/${id}`;
    const gone = await links.app.delete(path, { token: user.token, payload: { link_type: "relates_to" } });
    assert.equal(gone.status, 200);
    assert.deepEqual(
      [gone.body.source_issue.id, gone.body.target_issue.id, gone.body.link_type],
      [b.id, a.id, "is_blocked_by"],
    );
    assert.deepEqual([await list(a), await list(b)], [[], []]);
    assert.equal((await links.app.delete(path, { token: user.token })).status, 404);
  });

  test("a link of other issues is missing", async () => {
    const [a, b] = await pair();
    const [c] = await pair();
    const { id } = await links.linked(user, a, b);
    const { status, body } = await get(`${c.path}/links/${id}`);
    assert.deepEqual([status, body], [404, { message: "404 Not found" }]);
  });

  test("all of them require a signed-in caller, also in a public project", async () => {
    const open = await links.issue(await links.project(user, "owner", { visibility: 20 }));
    for (const path of ["/links", "/links/graph", "/links/1"])
      assert.equal((await links.app.get(`${open.path}${path}`)).status, 401);
    assert.equal((await links.app.post(`${open.path}/links`)).status, 401);
    assert.equal((await links.app.delete(`${open.path}/links/1`)).status, 401);
  });

  test("an issue counts the open issues that it blocks", async () => {
    const [a, b] = await pair();
    await links.linked(user, a, b, "blocks");
    const count = async () => (await get(a.path)).body.blocking_issues_count;
    assert.equal(await count(), 1);
    await links.app.services.db.write
      .updateTable("issues")
      .set({ state: "closed", closed_at: "2030-01-01" })
      .where("id", "=", b.id)
      .execute();
    assert.equal(await count(), 0);
  });
});
