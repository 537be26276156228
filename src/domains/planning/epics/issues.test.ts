import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { VISIBILITIES } from "#access/roles.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { type EpicGroup, epicsOn } from "./test-support.ts";

interface Made {
  readonly id: number;
  readonly iid: number;
}

describe("the issues of epics", () => {
  let app: TestApp;
  let on: ReturnType<typeof epicsOn>;
  before(async () => {
    app = await testApp();
    on = epicsOn(app);
  });
  after(() => app.close());

  const add = ({ epics, owner }: EpicGroup, epic: Made, issueId: number, { token }: { token: string } = owner) =>
    app.post(`${epics}/${epic.iid}/issues/${issueId}`, { token });
  const list = ({ epics, owner }: EpicGroup, epic: Made, { token }: { token?: string } = owner) =>
    app.get(`${epics}/${epic.iid}/issues`, { token });
  const idsIn = async (group: EpicGroup, epic: Made, user?: { token?: string }): Promise<number[]> =>
    (await list(group, epic, user)).body.map(({ id }: Made) => id);
  const issueOf = async (project: number, { owner }: EpicGroup, fields: object = {}) => {
    const payload = { title: "Caulk the seams", ...fields };
    const { status, body, text } = await app.post(`/projects/${project}/issues`, { token: owner.token, payload });
    assert.equal(status, 201, text);
    return body;
  };
  const read = (project: number, { iid }: Made, { token }: TestUser) =>
    app.get(`/projects/${project}/issues/${iid}`, { token });

  test("an issue is added, listed with its place, and removed", async () => {
    const group = await on.epicGroup();
    const project = await on.project(await on.group(group.id, { visibility: VISIBILITIES.private }));
    const epic = await on.created(group);
    const issue = await issueOf(project, group);
    const { status, body } = await add(group, epic, issue.id);
    assert.equal(status, 201);
    assert.deepEqual(
      [body.epic.id, body.issue.id, body.issue.epic.id, body.issue.epic_iid],
      [epic.id, issue.id, epic.id, epic.iid],
    );
    const [listed] = (await list(group, epic)).body;
    const { epic_issue_id, relative_position, ...rest } = listed;
    assert.equal(epic_issue_id, body.id);
    assert.ok(relative_position > 0);
    assert.deepEqual(rest, body.issue);
    const shown = (await read(project, issue, group.owner)).body;
    assert.deepEqual([shown.epic.id, shown.epic_iid, shown.epic.title], [epic.id, epic.iid, epic.title]);
    const removed = await app.delete(`${group.epics}/${epic.iid}/issues/${body.id}`, { token: group.owner.token });
    assert.deepEqual([removed.status, removed.body.id, removed.body.issue.epic], [200, body.id, null]);
    assert.deepEqual(await idsIn(group, epic), []);
    const again = await app.delete(`${group.epics}/${epic.iid}/issues/${body.id}`, { token: group.owner.token });
    assert.deepEqual([again.status, again.body], [404, { message: "404 Not found" }]);
  });

  test("an issue is in one epic at most: it leaves the other one", async () => {
    const group = await on.epicGroup();
    const issue = await issueOf(await on.project(group.id), group);
    const [one, two] = [await on.created(group), await on.created(group)];
    const first = await add(group, one, issue.id);
    assert.equal((await add(group, one, issue.id)).body.id, first.body.id, "again, without effect");
    assert.equal((await add(group, two, issue.id)).status, 201);
    assert.deepEqual([await idsIn(group, one), await idsIn(group, two)], [[], [issue.id]]);
  });

  test("concurrent requests leave it in one of them", async () => {
    const group = await on.epicGroup();
    const issue = await issueOf(await on.project(group.id), group);
    const epics = await Promise.all(Array.from({ length: 6 }, () => on.created(group)));
    const replies = await Promise.all(epics.map((epic) => add(group, epic, issue.id)));
    assert.ok(replies.every(({ status }) => status === 201));
    const holders = await Promise.all(epics.map((epic) => idsIn(group, epic)));
    assert.deepEqual(holders.flat(), [issue.id]);
  });

  test("the project must be in the group or below it; others are answered like missing ones", async () => {
    const group = await on.epicGroup();
    const below = await on.epicGroup(group);
    const epic = await on.created(below);
    const outside = await issueOf(await on.project(group.id), group);
    const missing = await add(below, epic, outside.id + 1_000_000);
    const { status, text } = await add(below, epic, outside.id);
    assert.deepEqual([status, text], [404, missing.text]);
  });

  test("Planners add issues, Guests do not", async () => {
    const group = await on.epicGroup();
    const issue = await issueOf(await on.project(group.id), group);
    const epic = await on.created(group);
    assert.equal((await add(group, epic, issue.id, await on.inRole(group, "guest"))).status, 403);
    assert.equal((await add(group, epic, issue.id, await on.inRole(group, "planner"))).status, 201);
  });

  test("issues are listed as far as the caller may see them, and tell of the epic likewise", async () => {
    const group = await on.epicGroup(undefined, { visibility: VISIBILITIES.public });
    const open = await on.project(group.id, { visibility: VISIBILITIES.public });
    const closed = await on.project(group.id);
    const off = await on.project(group.id, { visibility: VISIBILITIES.public });
    const epic = await on.created(group);
    const seen = await issueOf(open, group);
    const hidden = [
      await issueOf(open, group, { confidential: true }),
      await issueOf(closed, group),
      await issueOf(off, group),
    ];
    for (const issue of [seen, ...hidden]) assert.equal((await add(group, epic, issue.id)).status, 201);
    const { write } = app.services.db;
    await write.updateTable("projects").set({ issues_access_level: "disabled" }).where("id", "=", off).execute();
    const stranger = await app.makeUser();
    for (const caller of [{}, stranger]) assert.deepEqual(await idsIn(group, epic, caller), [seen.id]);
    assert.deepEqual(await idsIn(group, epic), [seen.id, hidden[0].id, hidden[1].id]);
    const { headers } = await list(group, epic, stranger);
    assert.equal(headers["x-total"], "1");
    await on.put(group, epic.iid, { title: "Sealed" });
    const secret = await on.created(group, { confidential: true });
    await write.updateTable("epic_issues").set({ epic_id: secret.id }).where("issue_id", "=", seen.id).execute();
    const shown = (await read(open, seen, stranger)).body;
    assert.deepEqual([shown.epic, shown.epic_iid], [null, null]);
  });

  test("a confidential epic has confidential issues only", async () => {
    const group = await on.epicGroup();
    const project = await on.project(group.id);
    const secret = await on.created(group, { confidential: true });
    const [open, confidential] = [await issueOf(project, group), await issueOf(project, group, { confidential: true })];
    const { status, body } = await add(group, secret, open.id);
    assert.deepEqual(
      [status, body],
      [422, { message: "A confidential epic cannot have an issue that is not confidential" }],
    );
    assert.equal((await add(group, secret, confidential.id)).status, 201);
    const opened = await app.put(`/projects/${project}/issues/${confidential.iid}`, {
      token: group.owner.token,
      payload: { confidential: false },
    });
    assert.deepEqual([opened.status, opened.body], [422, { message: "The issue must stay confidential" }]);
    const epic = await on.created(group);
    await add(group, epic, open.id);
    const closed = await on.put(group, epic.iid, { confidential: true });
    assert.equal(closed.status, 422);
    await add(group, epic, confidential.id);
    await app.services.db.write.deleteFrom("epic_issues").where("issue_id", "=", open.id).execute();
    assert.equal((await on.put(group, epic.iid, { confidential: true })).status, 200);
  });

  test("issues are moved before and after others", async () => {
    const group = await on.epicGroup();
    const project = await on.project(group.id);
    const epic = await on.created(group);
    const links: number[] = [];
    for (let n = 0; n < 3; n++) links.push((await add(group, epic, (await issueOf(project, group)).id)).body.id);
    const [a, b, c] = links;
    const orderAfter = async (id: number | undefined, payload: object) => {
      const { status, body, text } = await app.put(`${group.epics}/${epic.iid}/issues/${id}`, {
        token: group.owner.token,
        payload,
      });
      assert.equal(status, 200, text);
      return body.map((issue: { epic_issue_id: number }) => issue.epic_issue_id);
    };
    assert.deepEqual(await orderAfter(a, { move_before_id: c }), [b, c, a]);
    assert.deepEqual(await orderAfter(a, { move_after_id: c }), [b, a, c]);
    assert.deepEqual(await orderAfter(c, { move_after_id: b }), [c, b, a]);
    const listed = (await list(group, epic)).body.map((issue: { epic_issue_id: number }) => issue.epic_issue_id);
    assert.deepEqual(listed, [c, b, a]);
    const { status } = await app.put(`${group.epics}/${epic.iid}/issues/${a}`, {
      token: group.owner.token,
      payload: { move_before_id: (c ?? 0) + 1000 },
    });
    assert.equal(status, 404);
  });

  test("an epic has at most 5000 issues, and an archived project keeps its own", async () => {
    const group = await on.epicGroup();
    const project = await on.project(group.id);
    const epic = await on.created(group);
    const issue = await issueOf(project, group);
    const { write } = app.services.db;
    await sql`with made as (
        insert into issues (project_id, iid, title) select ${project}, 1000 + n, 'x' from generate_series(1, 5000) n
        returning id)
      insert into epic_issues (epic_id, issue_id, relative_position) select ${epic.id}, id, id from made`.execute(
      write,
    );
    const full = await add(group, epic, issue.id);
    assert.deepEqual([full.status, full.body], [422, { message: "An epic cannot have more than 5000 issues" }]);
    await write.updateTable("projects").set({ archived: true }).where("id", "=", project).execute();
    const archived = await add(group, await on.created(group), issue.id);
    assert.deepEqual([archived.status, archived.body], [403, { message: "403 Forbidden - The project is archived" }]);
  });
});
