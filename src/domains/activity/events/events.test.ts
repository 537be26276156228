import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { VISIBILITIES } from "#access/roles.ts";
import { removeEnded } from "#domains/organization/members/actions.ts";
import { dayFromNow } from "#domains/organization/members/test-support.ts";
import { accepted, type IssueProject, type IssuesApp, issuesApp } from "#domains/planning/issues/test-support.ts";
import type { TestUser } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";

interface Event {
  readonly action_name: string;
  readonly target_type: string | null;
  readonly target_id: number | null;
  readonly target_iid: number | null;
  readonly target_title: string | null;
  readonly author_username: string;
  readonly note?: { readonly body: string; readonly noteable_iid: number; readonly attachment: null };
}

/** An event as a person would say it. */
const said = ({ author_username: who, action_name, target_type, target_title }: Event) =>
  [who, action_name, target_type, target_title].filter((word) => word !== null).join(" ");

const EMPTY = { title: null, data: null, imported: false, imported_from: "none" };
const commits = (from: string | null, to: string | null, count: number, title: string | null) => ({
  ...{ commit_from: from, commit_to: to, commit_count: count, commit_title: title },
});
const picked = (object: Record<string, unknown>, names: object) =>
  Object.fromEntries(Object.keys(names).map((name) => [name, object[name]]));

describe("activity events", () => {
  let on: IssuesApp;
  before(async () => {
    on = await issuesApp();
  });
  after(() => on.app.close());

  const feed = async ({ id }: IssueProject, by: TestUser, query = ""): Promise<Event[]> =>
    on.get(`/projects/${id}/events?per_page=100&${query}`, by);
  const saidIn = async (at: IssueProject, by: TestUser, query = "") => (await feed(at, by, query)).map(said);
  const send = async (method: "post" | "put", path: string, { token }: TestUser, payload: object) =>
    accepted(await on.app[method](path, { token, payload }), method === "post" ? 201 : 200);

  describe("tell", () => {
    test("what happened to a project and its members", async () => {
      const owner = await on.app.makeUser();
      const { body } = await on.app.post("/projects", { token: owner.token, payload: { name: "Harbour" } });
      const members = `/projects/${body.id}/members`;
      const [leaver, kicked, ended] = await Promise.all([on.app.makeUser(), on.app.makeUser(), on.app.makeUser()]);
      const ids = [leaver.id, kicked.id, ended.id];
      await send("post", members, owner, { user_id: ids, access_level: 30, expires_at: dayFromNow(9) });
      await on.app.delete(`${members}/${leaver.id}`, { token: leaver.token });
      await on.app.delete(`${members}/${kicked.id}`, { token: owner.token });
      const listed: Event[] = await on.get(`/projects/${body.id}/events?sort=asc`, owner);
      const [created, ...others] = listed.map(said);
      assert.equal(created, `${owner.username} created`);
      assert.deepEqual(
        others.slice(0, 3).toSorted(),
        [leaver, kicked, ended].map(({ username }) => `${username} joined`).toSorted(),
      );
      assert.deepEqual(others.slice(3), [`${leaver.username} left`, `${kicked.username} left`]);
      assert.deepEqual([listed[0]?.target_id, listed[0]?.target_iid, listed[0]?.target_type], [null, null, null]);
      assert.equal((await on.get(`/projects/${body.id}/events?target_type=project`, owner)).length, 6);
      const { db } = on.app.services;
      await sql`update members set expires_at = current_date - 1 where user_id = ${ended.id}`.execute(db.write);
      await db.transaction(removeEnded);
      const [last] = await on.get(`/projects/${body.id}/events`, owner);
      assert.equal(said(last), `${ended.username} removed due to membership expiration from`);
    });

    test("pushes and other changes of branches and tags, with what was pushed", async () => {
      const owner = await on.app.makeUser();
      const payload = { name: "Locker", initialize_with_readme: true };
      const project = await send("post", "/projects", owner, payload);
      const repository = `/projects/${project.id}/repository`;
      await send("post", `${repository}/branches`, owner, { branch: "side", ref: "main" });
      const actions = [{ action: "create", file_path: "rope", content: "3 m" }];
      const made = await send("post", `${repository}/commits`, owner, {
        ...{ branch: "side", commit_message: "Add a rope\n\nIt is old.", actions },
      });
      await send("post", `${repository}/tags`, owner, { tag_name: "v1", ref: "side" });
      await on.app.delete(`${repository}/branches/side`, { token: owner.token });
      const pushes = await on.get(`/projects/${project.id}/events?action=pushed&sort=asc`, owner);
      const none = { target_id: null, target_iid: null, target_type: null, target_title: null };
      for (const { title, data, imported, imported_from, note, ...event } of pushes) {
        assert.deepEqual({ title, data, imported, imported_from, note }, { ...EMPTY, note: undefined });
        assert.deepEqual({ ...none, action_name: "pushed" }, picked(event, { ...none, action_name: "" }));
      }
      const first = pushes[0].push_data.commit_to;
      const single = { ref_count: null };
      assert.deepEqual(
        pushes.map(({ push_data }: { push_data: object }) => push_data),
        [
          {
            ...single,
            action: "created",
            ref_type: "branch",
            ref: "main",
            ...commits(null, first, 1, "Initial commit"),
          },
          {
            ...single,
            action: "created",
            ref_type: "branch",
            ref: "side",
            ...commits(null, first, 0, "Initial commit"),
          },
          { ...single, action: "pushed", ref_type: "branch", ref: "side", ...commits(first, made.id, 1, "Add a rope") },
          { ...single, action: "created", ref_type: "tag", ref: "v1", ...commits(null, made.id, 0, "Add a rope") },
          { ...single, action: "removed", ref_type: "branch", ref: "side", ...commits(made.id, null, 0, null) },
        ],
      );
      const admin = await on.app.makeUser({ admin: true });
      const detailed = { token: admin.token, payload: { push_action_names: "detailed" } };
      accepted(await on.app.put("/application/settings", detailed), 200);
      const names = async () =>
        (await on.get(`/projects/${project.id}/events?action=pushed&sort=asc`, owner)).map(said);
      const told = await until("the settings are read again", async () => {
        const read = await names();
        return read[0] !== `${owner.username} pushed` && read;
      });
      const verbs = ["pushed new", "pushed new", "pushed to", "pushed new", "deleted"];
      assert.deepEqual(
        told,
        verbs.map((verb) => `${owner.username} ${verb}`),
      );
      accepted(
        await on.app.put("/application/settings", { ...detailed, payload: { push_action_names: "plain" } }),
        200,
      );
    });

    test("what happened to issues, milestones and comments, each by who did it", async () => {
      const at = await on.project();
      const guest = await on.member(at, "guest");
      const { iid, id } = await on.create(at, { title: "Leak" }, guest);
      await on.put(at, iid, { state_event: "close" }, at.user);
      await on.put(at, iid, { title: "Big leak" }, at.user);
      await on.put(at, iid, { state_event: "reopen" }, at.user);
      const milestone = await send("post", `/projects/${at.id}/milestones`, at.user, { title: "May" });
      await send("put", `/projects/${at.id}/milestones/${milestone.id}`, at.user, { state_event: "close" });
      await send("put", `/projects/${at.id}/milestones/${milestone.id}`, at.user, { description: "no event" });
      const note = await send("post", `${at.issues}/${iid}/notes`, guest, { body: "I see it" });
      assert.deepEqual(await saidIn(at, guest, "sort=asc&target_type=issue"), [
        `${guest.username} opened Issue Big leak`,
        `${at.user.username} closed Issue Big leak`,
        `${at.user.username} opened Issue Big leak`,
      ]);
      assert.deepEqual(await saidIn(at, guest, "sort=asc&target_type=milestone"), [
        `${at.user.username} opened Milestone May`,
        `${at.user.username} closed Milestone May`,
      ]);
      const [comment, ...more] = await feed(at, guest, "target_type=note");
      assert.deepEqual(more, [], "records of changes are no comments");
      assert.deepEqual(
        [comment?.action_name, comment?.target_id, comment?.target_iid],
        ["commented on", note.id, note.id],
      );
      const { body, noteable_iid, attachment } = comment?.note ?? {};
      assert.deepEqual({ body, noteable_iid, attachment }, { body: "I see it", noteable_iid: iid, attachment: null });
      const [first] = await feed(at, guest, "action=created&target_type=issue");
      assert.deepEqual([first?.target_id, first?.target_iid], [id, iid]);
      await on.app.delete(`/projects/${at.id}/milestones/${milestone.id}`, { token: at.user.token });
      assert.deepEqual(await saidIn(at, guest, "target_type=milestone"), [`${at.user.username} destroyed Milestone`]);
    });

    test("a moved issue as one that closed and one that opened", async () => {
      const [from, to] = [await on.project(), await on.project()];
      await on.insert.member(from.user, { project_id: to.id }, "planner");
      const { iid } = await on.create(from, { title: "Adrift" });
      const payload = { to_project_id: to.id };
      accepted(await on.app.post(`${from.issues}/${iid}/move`, { token: from.user.token, payload }), 201);
      const { username } = from.user;
      assert.deepEqual(await saidIn(from, from.user), [
        `${username} closed Issue Adrift`,
        `${username} opened Issue Adrift`,
      ]);
      assert.deepEqual(await saidIn(to, from.user), [`${username} opened Issue Adrift`]);
    });

    test("what happened to an epic only in its group", async () => {
      const at = await on.project();
      await on.insert.member(at.user, { group_id: at.groupId }, "planner");
      const epic = await send("post", `/groups/${at.groupId}/epics`, at.user, { title: "Voyage" });
      await send("put", `/groups/${at.groupId}/epics/${epic.iid}`, at.user, { state_event: "close" });
      const { rows } = await sql`
        select action, group_id, project_id from events where target_type = 'Epic' and target_id = ${epic.id}
        order by id`.execute(on.app.services.db.write);
      const place = { group_id: at.groupId, project_id: null };
      assert.deepEqual(rows, [
        { action: 1, ...place },
        { action: 3, ...place },
      ]);
      assert.deepEqual(await on.get("/events?target_type=epic", at.user), []);
      assert.ok((await on.get("/events", at.user)).every(({ target_type }: Event) => target_type !== "Epic"));
    });
  });

  describe("show only what the caller may see now", () => {
    test("not a confidential issue, an internal comment or what was deleted", async () => {
      const at = await on.publicProject();
      const stranger = await on.app.makeUser();
      const { iid } = await on.create(at, { title: "Plain" });
      await send("post", `${at.issues}/${iid}/notes`, at.user, { body: "For all" });
      await send("post", `${at.issues}/${iid}/notes`, at.user, { body: "For us", internal: true });
      const bodies = async (by: TestUser) => (await feed(at, by, "target_type=note")).map(({ note }) => note?.body);
      assert.deepEqual(await bodies(at.user), ["For us", "For all"]);
      assert.deepEqual(await bodies(stranger), ["For all"]);
      await on.put(at, iid, { confidential: true }, at.user);
      assert.deepEqual(await feed(at, stranger, "target_type=issue"), []);
      assert.deepEqual(await bodies(stranger), []);
      assert.equal((await feed(at, at.user, "target_type=issue")).length, 1);
      await on.app.delete(`${at.issues}/${iid}`, { token: at.user.token });
      assert.deepEqual(await feed(at, at.user, "target_type=issue"), []);
    });

    test("nothing of a project that became private, or of a feature that is off", async () => {
      const at = await on.publicProject();
      const stranger = await on.app.makeUser();
      await on.create(at, { title: "Seen" }, stranger);
      const own = async () => (await on.get("/events", stranger)).map(said);
      assert.deepEqual(await own(), [`${stranger.username} opened Issue Seen`]);
      const change = (columns: object) =>
        on.app.services.db.write.updateTable("projects").set(columns).where("id", "=", at.id).execute();
      await change({ issues_access_level: "private" });
      assert.deepEqual(await own(), []);
      await change({ issues_access_level: "enabled", visibility: 0 });
      assert.deepEqual(await own(), []);
      assert.equal((await on.app.get(`/projects/${at.id}/events`, { token: stranger.token })).status, 404);
      const of = `/users/${stranger.id}/events`;
      assert.deepEqual((await on.get(of, at.user)).map(said), [`${stranger.username} opened Issue Seen`]);
    });

    test("pages are full whatever is hidden in between", async () => {
      const at = await on.publicProject();
      const stranger = await on.app.makeUser();
      for (let n = 0; n < 6; n++) await on.create(at, { title: `Issue ${n}`, confidential: n % 2 === 0 });
      const path = `/projects/${at.id}/events?target_type=issue&per_page=2&pagination=keyset`;
      const first = await on.app.get(path, { token: stranger.token });
      assert.deepEqual(
        first.body.map(({ target_title }: Event) => target_title),
        ["Issue 5", "Issue 3"],
      );
      const next = /<([^>]*)>; rel="next"/.exec(first.headers["link"] ?? "")?.[1]?.replace(/^.*\/api\/v4/, "");
      const second = await on.get(next ?? "", stranger);
      assert.deepEqual(
        second.map(({ target_title }: Event) => target_title),
        ["Issue 1"],
      );
    });
  });

  describe("of a user", () => {
    test("are the caller's own, or with scope=all everybody's in the caller's projects", async () => {
      const at = await on.publicProject();
      const member = await on.member(at, "guest");
      await on.create(at, { title: "By the owner" });
      await on.create(at, { title: "By the member" }, member);
      const titles = async (query: string) =>
        (await on.get(`/events?target_type=issue${query}`, member)).map(({ target_title }: Event) => target_title);
      assert.deepEqual(await titles(""), ["By the member"]);
      assert.deepEqual(await titles("&scope=all"), ["By the member", "By the owner"]);
      assert.deepEqual(await titles("&scope=other"), ["By the member"]);
    });

    test("are found by id and by name; those of a private or blocked user are an empty list to others", async () => {
      const at = await on.publicProject();
      const author = await on.app.makeUser();
      const reader = await on.app.makeUser();
      await on.create(at, { title: "Public" }, author);
      const count = async (name: string | number, by: TestUser) => (await on.get(`/users/${name}/events`, by)).length;
      assert.deepEqual([await count(author.id, reader), await count(author.username.toUpperCase(), reader)], [1, 1]);
      assert.equal((await on.app.get("/users/nobody-of-this-name/events", { token: reader.token })).status, 404);
      const change = (columns: object) =>
        on.app.services.db.write.updateTable("users").set(columns).where("id", "=", author.id).execute();
      await change({ private_profile: true });
      assert.deepEqual([await count(author.id, reader), await count(author.id, author)], [0, 1]);
      await change({ private_profile: false, state: "blocked" });
      const admin = await on.app.makeUser({ admin: true });
      assert.deepEqual([await count(author.id, reader), await count(author.id, admin)], [0, 1]);
    });
  });

  describe("of a group", () => {
    const feedOf = async (
      group: number,
      by: TestUser,
      query = "",
    ): Promise<(Event & { project_id: number | null })[]> => on.get(`/groups/${group}/events?${query}`, by);

    test("are those of its projects, epics and milestones, and of the groups below", async () => {
      const at = await on.project();
      const below = await on.insert.group(at.groupId);
      const planner = await on.app.makeUser();
      await on.insert.member(planner, { group_id: at.groupId }, "planner");
      const { username } = planner;
      await on.create(at, { title: "Rope" }, planner);
      const epic = await send("post", `/groups/${below}/epics`, planner, { title: "Voyage" });
      const note = await send("post", `/groups/${below}/epics/${epic.iid}/notes`, planner, { body: "Far away" });
      await send("post", `/groups/${at.groupId}/milestones`, planner, { title: "May" });
      const listed = await feedOf(at.groupId, planner);
      assert.deepEqual(listed.map(said), [
        `${username} opened Milestone May`,
        `${username} commented on Note`,
        `${username} opened Epic Voyage`,
        `${username} opened Issue Rope`,
      ]);
      assert.deepEqual(
        listed.map((event) => picked({ ...event }, { project_id: 0, group_id: 0 })),
        [
          { project_id: null, group_id: at.groupId },
          { project_id: null, group_id: below },
          { project_id: null, group_id: below },
          { project_id: at.id, group_id: null },
        ],
      );
      assert.deepEqual(
        [listed[1]?.note?.body, listed[1]?.note?.noteable_iid, listed[1]?.target_id],
        ["Far away", epic.iid, note.id],
      );
      assert.deepEqual(
        (await feedOf(at.groupId, planner, "target_type=epic")).map(said),
        [listed[2]].map(said as never),
      );
      assert.deepEqual((await feedOf(below, planner, "target_type=milestone")).map(said), []);
    });

    test("have no total if they are of very many groups", async () => {
      const group = await on.insert.group(undefined, { visibility: VISIBILITIES.public });
      const planner = await on.app.makeUser();
      await on.insert.member(planner, { group_id: group }, "planner");
      for (const title of ["May", "June"]) await send("post", `/groups/${group}/milestones`, planner, { title });
      const headers = async () =>
        (await on.app.get(`/groups/${group}/events?per_page=1`, { token: planner.token })).headers;
      assert.equal((await headers())["x-total"], "2");
      await Promise.all(Array.from({ length: 100 }, () => on.insert.group(group)));
      const { "x-total": total, "x-next-page": next } = await headers();
      assert.deepEqual([total, next], [undefined, "2"]);
    });

    test("show only what the caller may see", async () => {
      const group = await on.insert.group(undefined, { visibility: VISIBILITIES.public });
      const [hidden, project] = [
        await on.insert.group(group, { visibility: VISIBILITIES.private }),
        await on.insert.project(group, { visibility: VISIBILITIES.private }),
      ];
      const [planner, stranger] = [await on.app.makeUser(), await on.app.makeUser()];
      await on.insert.member(planner, { group_id: group }, "planner");
      const epicOf = async (id: number, payload: object) =>
        send("post", `/groups/${id}/epics`, planner, { title: "Voyage", ...payload });
      const { iid } = await epicOf(group, { title: "For all" });
      await send("post", `/groups/${group}/epics/${iid}/notes`, planner, { body: "For us", internal: true });
      await epicOf(group, { title: "For us", confidential: true });
      await epicOf(hidden, { title: "Below" });
      await send("post", `/groups/${hidden}/milestones`, planner, { title: "May" });
      await send("post", `/projects/${project}/issues`, planner, { title: "Rope" });
      assert.equal((await feedOf(group, planner)).length, 6);
      assert.deepEqual((await feedOf(group, stranger)).map(said), [`${planner.username} opened Epic For all`]);
      assert.equal((await on.app.get(`/groups/${hidden}/events`, { token: stranger.token })).status, 404);
      assert.equal((await on.app.get(`/groups/${group}/events`)).status, 401);
    });
  });

  test("are filtered by action and by days, both excluded", async () => {
    const at = await on.publicProject();
    const { iid, created_at } = await on.create(at, { title: "One" });
    await on.put(at, iid, { state_event: "close" }, at.user);
    const day = (offset: number) => new Date(Date.parse(created_at) + offset * 86_400_000).toISOString().slice(0, 10);
    const count = async (query: string) => (await feed(at, at.user, query)).length;
    assert.deepEqual([await count("action=closed"), await count("action=reopened")], [1, 0]);
    const opened = async (query: string) => count(`action=created&${query}`);
    assert.deepEqual([await opened(`after=${day(-1)}`), await opened(`after=${day(0)}`)], [1, 0]);
    assert.deepEqual([await opened(`before=${day(1)}`), await opened(`before=${day(0)}`)], [1, 0]);
    for (const query of ["action=invented", "target_type=invented", "before=yesterday", "sort=sideways"])
      assert.equal((await on.app.get(`/projects/${at.id}/events?${query}`, at.user)).status, 400, query);
  });
});
