import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { VISIBILITIES } from "#access/roles.ts";
import { MAX_TEXT_BYTES } from "#domains/conversation/items/descriptions.ts";
import { type LinkApp, linkApp } from "#domains/planning/links/test-support.ts";
import type { TestUser } from "#test/support/app.ts";

describe("to-dos", () => {
  let links: LinkApp;
  let owner: TestUser;
  before(async () => {
    links = await linkApp();
    owner = await links.app.makeUser();
  });
  after(() => links.app.close());

  interface Todo {
    readonly id: number;
    readonly action_name: string;
    readonly target: { readonly id: number; readonly title: string };
    readonly [field: string]: any;
  }

  const todosOf = async ({ token }: TestUser, query = ""): Promise<Todo[]> => {
    const { status, body, text } = await links.app.get(`/todos?${query}`, { token });
    assert.equal(status, 200, text);
    return body;
  };
  const told = async (user: TestUser, query = "") =>
    (await todosOf(user, query)).map(({ action_name, target }) => `${action_name} ${target.id}`);

  /** A project with the owner, and members of it. */
  async function place(given: object = {}) {
    const group = await links.group(owner, "owner", given);
    const project = await links.insert.project(group, { visibility: VISIBILITIES.private, ...given });
    const member = async (role: "guest" | "planner" | "developer" = "developer") => {
      const user = await links.app.makeUser();
      await links.insert.member(user, { group_id: group }, role);
      return user;
    };
    return { group, project, member, issues: `/projects/${project}/issues`, epics: `/groups/${group}/epics` };
  }

  const create = async (path: string, payload: object, { token } = owner) => {
    const { status, body, text } = await links.app.post(path, { token, payload: { title: "Leak", ...payload } });
    assert.equal(status, 201, text);
    return body;
  };
  const change = async (path: string, payload: object, { token } = owner) => {
    const { status, text } = await links.app.put(path, { token, payload });
    assert.equal(status, 200, text);
  };

  test("long descriptions of their items are cut, and count as often as they are sent", async () => {
    const { project, member } = await place();
    const anna = await member();
    const { write } = links.app.services.db;
    await sql`with made as (
        insert into issues (project_id, iid, title, description)
        select ${project}, 1000 + k, 'Long', repeat('x', 1048576) from generate_series(1, 3) k returning id
      )
      insert into todos (user_id, issue_id, action, state)
      select ${anna.id}, id, 'marked', 'done' from made cross join generate_series(1, 3)`.execute(write);
    const all = await links.app.get("/todos?state=done", { token: anna.token });
    assert.deepEqual([all.status, all.headers["x-truncated"], all.body.length], [200, "true", 9]);
    assert.ok(all.text.length < MAX_TEXT_BYTES + 64 * 1024, `${all.text.length} bytes`);
    const one = await links.app.get("/todos?state=done&per_page=1", { token: anna.token });
    assert.deepEqual([one.headers["x-truncated"], one.body[0].target.description.length], [undefined, 2 ** 20]);
  });

  test("whoever is assigned has one, with the issue and its project", async () => {
    const { issues, project, member } = await place();
    const anna = await member();
    const issue = await create(issues, { assignee_ids: [anna.id] });
    const [todo, ...others] = await todosOf(anna);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [todo?.action_name, todo?.["target_type"], todo?.["state"], todo?.["body"], todo?.["author"].id],
      ["assigned", "Issue", "pending", "Leak", owner.id],
    );
    const [listed] = (await links.app.get("/issues?scope=assigned_to_me", { token: anna.token })).body;
    assert.deepEqual([todo?.["target"], todo?.["target_url"]], [listed, issue.web_url]);
    assert.deepEqual([todo?.["project"].id, "group" in (todo ?? {})], [project, false]);
    assert.deepEqual(await todosOf(owner), []);
  });

  test("assigning later tells the new people only, and those who are unassigned are done", async () => {
    const { issues, member } = await place();
    const [anna, bert] = [await member(), await member()];
    const { iid, id } = await create(issues, { assignee_ids: [anna.id] });
    await change(`${issues}/${iid}`, { assignee_ids: [anna.id, bert.id] });
    assert.deepEqual([await told(anna), await told(bert)], [[`assigned ${id}`], [`assigned ${id}`]]);
    await change(`${issues}/${iid}`, { assignee_ids: [bert.id] });
    assert.deepEqual([await told(anna), await told(anna, "state=done")], [[], [`assigned ${id}`]]);
    assert.deepEqual(await told(bert), [`assigned ${id}`]);
    await change(`${issues}/${iid}`, { assignee_ids: [anna.id, bert.id] });
    assert.deepEqual(await told(anna), [`assigned ${id}`]);
  });

  test("whoever is mentioned in a description has one, once", async () => {
    const { issues, epics, member } = await place();
    const [anna, bert] = [await member(), await member()];
    const description = `Ask @${anna.username.toUpperCase()}, not \`@${bert.username}\` or x@${bert.username}. @${owner.username}`;
    const issue = await create(issues, { description });
    const epic = await create(epics, { description });
    assert.deepEqual(await told(anna), [`mentioned ${epic.id}`, `mentioned ${issue.id}`]);
    assert.deepEqual([await told(bert), await told(owner)], [[], []]);
    await change(`${issues}/${issue.iid}`, { description: `@${anna.username} and @${bert.username}` });
    await change(`${epics}/${epic.iid}`, { description: `@${anna.username} and @${bert.username}` });
    assert.deepEqual(await told(bert), [`mentioned ${epic.id}`, `mentioned ${issue.id}`]);
    assert.equal((await told(anna)).length, 2);
    const [todo] = await todosOf(anna);
    assert.deepEqual(
      [todo?.["target_type"], todo?.["group"].kind, "project" in (todo ?? {})],
      ["Epic", "group", false],
    );
  });

  test("whoever is mentioned in a note has one, if they may see the note, and a comment completes one's own", async () => {
    const { issues, epics, member } = await place();
    const [guest, planner] = [await member("guest"), await member("planner")];
    const body = `@${guest.username} and @${planner.username}`;
    for (const path of [issues, epics]) {
      const { iid, id } = await create(path, {});
      const notes = `${path}/${iid}/notes`;
      await create(notes, { body, internal: true });
      assert.deepEqual([await told(guest), await told(planner)], [[], [`mentioned ${id}`]]);
      const note = await create(notes, { body: `@${guest.username}` });
      assert.deepEqual(await told(guest), [`mentioned ${id}`]);
      await create(notes, { body: "I will" }, planner);
      assert.deepEqual(await told(planner), []);
      await change(`${notes}/${note.id}`, { body });
      assert.deepEqual(await told(planner), [`mentioned ${id}`]);
      await create(notes, { body: "Seen" }, guest);
      await create(notes, { body: "Seen" }, planner);
    }
  });

  test("nobody is told of what they may not see", async () => {
    const { issues, epics, member } = await place();
    const [guest, planner, stranger] = [await member("guest"), await member("planner"), await links.app.makeUser()];
    const blocked = await member();
    await links.app.services.db.write
      .updateTable("users")
      .set({ state: "blocked" })
      .where("id", "=", blocked.id)
      .execute();
    const description = [guest, planner, stranger, blocked].map(({ username }) => `@${username}`).join(" ");
    const open = await create(issues, { description });
    const secret = await create(issues, { description, confidential: true });
    const secretEpic = await create(epics, { description, confidential: true });
    assert.deepEqual(await told(guest), [`mentioned ${open.id}`]);
    assert.deepEqual(await told(planner), [
      `mentioned ${secretEpic.id}`,
      `mentioned ${secret.id}`,
      `mentioned ${open.id}`,
    ]);
    const rows = await links.app.services.db.write
      .selectFrom("todos")
      .select("id")
      .where("user_id", "in", [stranger.id, blocked.id])
      .execute();
    assert.deepEqual(rows, []);
  });

  test("what is hidden or deleted later is gone from the list at once", async () => {
    const { project, group, issues, epics, member } = await place();
    const guest = await member("guest");
    const description = `@${guest.username}`;
    const [issue, gone, epic] = [
      await create(issues, { description }),
      await create(issues, { description }),
      await create(epics, { description }),
    ];
    assert.equal((await told(guest)).length, 3);
    const [first] = await todosOf(guest, "type=Issue");
    await links.app.delete(`${issues}/${gone.iid}`, { token: owner.token });
    await change(`${issues}/${issue.iid}`, { confidential: true });
    assert.deepEqual(await told(guest), [`mentioned ${epic.id}`]);
    const { status, text } = await links.app.post(`/todos/${first?.id}/mark_as_done`, { token: guest.token });
    const missing = await links.app.post(`/todos/${2 ** 40}/mark_as_done`, { token: guest.token });
    assert.deepEqual([status, text], [404, missing.text]);
    await change(`${issues}/${issue.iid}`, { confidential: false });
    assert.deepEqual(await told(guest), [`mentioned ${epic.id}`, `mentioned ${issue.id}`]);
    const { write } = links.app.services.db;
    await write.updateTable("projects").set({ issues_access_level: "disabled" }).where("id", "=", project).execute();
    assert.deepEqual(await told(guest), [`mentioned ${epic.id}`]);
    await write.deleteFrom("members").where("group_id", "=", group).where("user_id", "=", guest.id).execute();
    assert.deepEqual(await told(guest), []);
  });

  test("acting on an item completes one's own to-dos about it, and nobody else's", async () => {
    const { issues, epics, member } = await place();
    const [anna, bert] = [await member(), await member()];
    const description = `@${anna.username} @${bert.username}`;
    const [issue, epic] = [await create(issues, { description }), await create(epics, { description })];
    await change(`${issues}/${issue.iid}`, { state_event: "close" }, anna);
    await change(`${epics}/${epic.iid}`, { state_event: "close" }, anna);
    assert.deepEqual([await told(anna), (await told(anna, "state=done")).length], [[], 2]);
    assert.equal((await told(bert)).length, 2);
    // A change that changes nothing is no action.
    const other = await create(issues, { description });
    await change(`${issues}/${other.iid}`, { title: "Leak" }, anna);
    assert.deepEqual(await told(anna), [`mentioned ${other.id}`]);
  });

  test("a moved issue takes its to-dos along", async () => {
    const { issues, member, group } = await place();
    const anna = await member();
    const target = await links.insert.project(group, { visibility: VISIBILITIES.private });
    const { iid } = await create(issues, { assignee_ids: [anna.id] });
    const moved = await links.app.post(`${issues}/${iid}/move`, {
      token: owner.token,
      payload: { to_project_id: target },
    });
    assert.equal(moved.status, 201, moved.text);
    assert.deepEqual(await told(anna), [`assigned ${moved.body.id}`]);
  });

  test("one's own mark is made once", async () => {
    const { issues, epics, member } = await place();
    const guest = await member("guest");
    for (const [path, type] of [
      [issues, "Issue"],
      [epics, "Epic"],
    ] as const) {
      const item = await create(path, {});
      const mark = () => links.app.post(`${path}/${item.iid}/todo`, { token: guest.token });
      const { status, body } = await mark();
      assert.deepEqual([status, body.action_name, body.target_type, body.target.id], [201, "marked", type, item.id]);
      assert.equal((await mark()).status, 304);
      const done = await links.app.post(`/todos/${body.id}/mark_as_done`, { token: guest.token });
      assert.deepEqual([done.status, done.body.state], [201, "done"]);
      assert.equal((await links.app.post(`/todos/${body.id}/mark_as_done`, { token: guest.token })).body.state, "done");
      assert.equal((await mark()).status, 201);
    }
    assert.equal((await links.app.post(`${epics}/1/todos`, { token: guest.token })).status, 304);
  });

  test("those of others are missing, and all at once are one's own", async () => {
    const { issues, member } = await place();
    const [anna, bert] = [await member(), await member()];
    for (let count = 0; count < 3; count++) await create(issues, { assignee_ids: [anna.id, bert.id] });
    const [todo] = await todosOf(anna);
    assert.equal((await links.app.post(`/todos/${todo?.id}/mark_as_done`, { token: bert.token })).status, 404);
    const { status, text } = await links.app.post("/todos/mark_as_done", { token: anna.token });
    assert.deepEqual([status, text], [204, ""]);
    assert.deepEqual([(await told(anna)).length, (await told(anna, "state=done")).length], [0, 3]);
    assert.equal((await told(bert)).length, 3);
    assert.equal((await links.app.get("/todos")).status, 401);
  });

  test("filters", async () => {
    const [one, other] = [await place(), await place()];
    const anna = await one.member();
    await links.insert.member(anna, { group_id: other.group }, "developer");
    const bert = await one.member("planner");
    const description = `@${anna.username}`;
    const assigned = await create(one.issues, { assignee_ids: [anna.id] });
    const mentioned = await create(other.issues, { description });
    const byBert = await create(one.issues, { description }, bert);
    const epic = await create(other.epics, { description });
    const names = { assigned: assigned.id, mentioned: mentioned.id, byBert: byBert.id };
    for (const [query, expected] of [
      ["action=assigned", [names.assigned]],
      ["action=build_failed", []],
      [`author_id=${bert.id}`, [names.byBert]],
      [`project_id=${one.project}`, [names.byBert, names.assigned]],
      [`group_id=${other.group}`, [epic.id, names.mentioned]],
      [`group_id=${other.group}&type=Issue`, [names.mentioned]],
      ["type=Epic", [epic.id]],
      ["type=MergeRequest", []],
      [`type=Epic&project_id=${one.project}`, []],
      ["state=done", []],
      ["per_page=1&page=2", [names.byBert]],
    ] as const)
      assert.deepEqual(
        (await todosOf(anna, query)).map(({ target }) => target.id),
        expected,
        query,
      );
    assert.equal((await links.app.get("/todos?state=lost", { token: anna.token })).status, 400);
  });

  test("an issue that is created at once by many tells everyone once", async () => {
    const { issues, member } = await place();
    const anna = await member();
    const { iid, id } = await create(issues, {});
    await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        change(`${issues}/${iid}`, { description: `@${anna.username} ${at}`, assignee_ids: [anna.id] }),
      ),
    );
    assert.deepEqual((await told(anna)).toSorted(), [`assigned ${id}`, `mentioned ${id}`]);
  });
});
