import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { type Insertable, sql } from "kysely";
import Type from "typebox";
import { inGroup, inProject, inTopLevelGroup } from "#access/containers.ts";
import { LEVELS, VISIBILITIES } from "#access/roles.ts";
import type { Database } from "#db/types.ts";
import { endpoint } from "#http/endpoint.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const params = Type.Object({ id: Type.String(), text: Type.Optional(Type.Integer()) });
const returns = Type.Unknown();

const rules = {
  topLevel: endpoint({
    method: "GET",
    path: "/rules/:id/top",
    summary: "Read something of a top-level group",
    access: inTopLevelGroup("owner"),
    params,
    returns,
    handle: ({ actor, group }) => ({ actor: actor.user.id, group: group.id, level: group.level }),
  }),
  changeProject: endpoint({
    method: "POST",
    path: "/rules/:id/content",
    summary: "Change what is in a project",
    access: inProject("developer", { unlessArchived: true }),
    params,
    returns,
    audit: "content_changed",
    handle: ({ project }) => ({ project: project.id }),
  }),
  changeGroup: endpoint({
    method: "PUT",
    path: "/rules/:id/content",
    summary: "Change what is in a group",
    access: inGroup("developer", { unlessArchived: true }),
    params,
    returns,
    audit: "content_changed",
    handle: ({ group }) => ({ group: group.id }),
  }),
  readProject: endpoint({
    method: "GET",
    path: "/rules/:id/content",
    summary: "Read what is in a project",
    access: inProject("viewer"),
    params,
    returns,
    handle: ({ actor, project }) => ({ actor: actor?.user.id ?? null, archived: project.archived }),
  }),
  signedInViewer: endpoint({
    method: "GET",
    path: "/rules/:id/signed_in",
    summary: "Read what only those who are signed in read",
    access: inProject("viewer", { signedIn: true, scopes: ["read_repository"] }),
    params,
    returns,
    handle: ({ actor }) => ({ actor: actor.user.id }),
  }),
  readWiki: endpoint({
    method: "GET",
    path: "/rules/:id/wiki",
    summary: "Read what belongs to a feature of a project",
    access: inProject("viewer", { feature: "wiki" }),
    params,
    returns,
    handle: ({ project }) => ({ project: project.id }),
  }),
  changeMergeRequests: endpoint({
    method: "PUT",
    path: "/rules/:id/merge_requests",
    summary: "Change what belongs to a feature of a project",
    access: inProject("guest", { feature: "merge_requests" }),
    params,
    returns,
    audit: "content_changed",
    handle: ({ project }) => ({ project: project.id }),
  }),
};

describe("access rules for a group or project", () => {
  let app: TestApp;
  let owner: TestUser;
  let stranger: TestUser;
  let admin: TestUser;
  before(async () => {
    app = await testApp({ resources: { rules } });
    owner = await app.makeUser();
    stranger = await app.makeUser();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const db = () => app.services.db.write;

  async function makeGroup(columns: { parent_id?: number; visibility?: number; archived?: boolean } = {}) {
    const path = `g-${randomUUID()}`;
    const { id } = await db()
      .insertInto("namespaces")
      .values({ kind: "group", path, name: path, visibility: VISIBILITIES.private, ...columns })
      .returning("id")
      .executeTakeFirstOrThrow();
    return id;
  }

  type ProjectColumns = Partial<Insertable<Database["projects"]>>;
  async function makeProject(namespace_id: number, columns: ProjectColumns = {}) {
    const path = `p-${randomUUID()}`;
    const { id } = await db()
      .insertInto("projects")
      .values({ namespace_id, path, name: path, ...columns })
      .returning("id")
      .executeTakeFirstOrThrow();
    return id;
  }

  const join = (user: TestUser, place: { group_id: number } | { project_id: number }, level: keyof typeof LEVELS) =>
    db()
      .insertInto("members")
      .values({ user_id: user.id, access_level: LEVELS[level], ...place })
      .execute();

  test("a rule for a top-level group refuses a subgroup, but only if the caller may see it", async () => {
    const top = await makeGroup();
    const below = await makeGroup({ parent_id: top });
    await join(owner, { group_id: top }, "owner");
    const maintainer = await app.makeUser();
    await join(maintainer, { group_id: top }, "maintainer");
    const ask = (id: number | string, token?: string) => app.get(`/rules/${id}/top`, { token });

    assert.deepEqual((await ask(top, owner.token)).body, { actor: owner.id, group: top, level: LEVELS.owner });
    assert.equal((await ask(top, admin.token)).status, 200);
    const refused = await ask(below, owner.token);
    assert.equal(refused.status, 400);
    assert.deepEqual(refused.body, { message: "400 Bad request - Group is not a top-level group" });
    assert.equal((await ask(below, admin.token)).status, 400);
    assert.equal((await ask(below, maintainer.token)).status, 403);
    assert.equal((await ask(below, stranger.token)).status, 404);
    assert.equal((await ask(below)).status, 401);
    assert.equal((await ask(owner.username, owner.token)).status, 404, "a user's own namespace is no group");
  });

  test("an archived group or project, or one below an archived group, can be read but not changed", async () => {
    const top = await makeGroup();
    const below = await makeGroup({ parent_id: top });
    const project = await makeProject(below);
    await join(owner, { group_id: top }, "developer");
    const statuses = async (token = owner.token) => ({
      project: (await app.post(`/rules/${project}/content`, { token })).status,
      group: (await app.put(`/rules/${below}/content`, { token })).status,
      read: (await app.get(`/rules/${project}/content`, { token })).status,
    });
    assert.deepEqual(await statuses(), { project: 201, group: 200, read: 200 });

    await db().updateTable("projects").set({ archived: true }).where("id", "=", project).execute();
    assert.deepEqual(await statuses(), { project: 403, group: 200, read: 200 });
    assert.deepEqual(await statuses(admin.token), { project: 403, group: 200, read: 200 });
    const { body } = await app.post(`/rules/${project}/content`, { token: owner.token });
    assert.deepEqual(body, { message: "403 Forbidden - The project is archived" });

    await db().updateTable("projects").set({ archived: false }).where("id", "=", project).execute();
    await db().updateTable("namespaces").set({ archived: true }).where("id", "=", top).execute();
    assert.deepEqual(await statuses(), { project: 403, group: 403, read: 200 });
    assert.equal((await app.get(`/rules/${project}/content`, { token: owner.token })).body.archived, true);
    const told = await app.put(`/rules/${below}/content`, { token: owner.token });
    assert.deepEqual(told.body, { message: "403 Forbidden - The group is archived" });
  });

  test("only callers who could otherwise change it learn that something is archived", async () => {
    const project = await makeProject(await makeGroup(), { archived: true });
    const hidden = await app.post(`/rules/${project}/content`, { token: stranger.token });
    const absent = await app.post("/rules/4503599627370495/content", { token: stranger.token });
    assert.equal(hidden.status, 404);
    assert.equal(hidden.text, absent.text);
    await db().updateTable("projects").set({ visibility: VISIBILITIES.public }).where("id", "=", project).execute();
    const seen = await app.post(`/rules/${project}/content`, { token: stranger.token });
    assert.match(seen.body.message, /^403 Forbidden - Requires at least the \w+ role in the project$/);
  });

  test("a viewer need not be signed in unless the rule says so", async () => {
    const project = await makeProject(await makeGroup(), { visibility: VISIBILITIES.public });
    assert.equal((await app.get(`/rules/${project}/content`)).body.actor, null);
    assert.equal((await app.get(`/rules/${project}/signed_in`)).status, 401);
    assert.equal((await app.get(`/rules/${project}/signed_in`, { token: stranger.token })).body.actor, stranger.id);
  });

  test("a rule names the scopes that it accepts", async () => {
    const project = await makeProject(await makeGroup(), { visibility: VISIBILITIES.public });
    const { token } = await app.makeToken(stranger.id, { scopes: ["read_repository"] });
    assert.equal((await app.get(`/rules/${project}/signed_in`, { token })).status, 200);
    assert.equal((await app.get(`/rules/${project}/content`, { token })).status, 403);
  });

  test("the order of refusals is 401, 404, 403, 400", async () => {
    const project = await makeProject(await makeGroup(), { visibility: VISIBILITIES.private });
    const reporter = await app.makeUser();
    await join(reporter, { project_id: project }, "reporter");
    await join(owner, { project_id: project }, "developer");
    const ask = async (token?: string) =>
      (await app.post(`/rules/${project}/content`, { token, payload: { text: "no number" } })).status;
    assert.deepEqual(
      [await ask(), await ask(stranger.token), await ask(reporter.token), await ask(owner.token)],
      [401, 404, 403, 400],
    );
  });

  test("a number is an id even if a group has that path", async () => {
    const project = await makeProject(await makeGroup(), { visibility: VISIBILITIES.public });
    const path = String(project);
    await db()
      .insertInto("namespaces")
      .values({ kind: "group", path, name: path, visibility: VISIBILITIES.public })
      .execute();
    assert.equal((await app.get(`/rules/${path}/content`)).status, 200);
    for (const odd of ["-1", "0", "1e3", "9007199254740993", "1.0", "%00", "a%00/b", "..%2F..", "%20", "/".repeat(3)])
      assert.equal((await app.get(`/rules/${odd}/content`)).status, 404, odd);
  });

  test("a rule for a feature refuses callers who may not use it, with 403 if they see the project", async () => {
    const member = await app.makeUser();
    const statuses = async (columns: ProjectColumns) => {
      const project = await makeProject(await makeGroup(), columns);
      await join(member, { project_id: project }, "guest");
      const callers = [{}, { token: stranger.token }, { token: member.token }, { token: admin.token }];
      return Promise.all(callers.map(async (caller) => (await app.get(`/rules/${project}/wiki`, caller)).status));
    };
    const open = { visibility: VISIBILITIES.public };
    const closed = { visibility: VISIBILITIES.private };
    assert.deepEqual(await statuses(open), [200, 200, 200, 200]);
    assert.deepEqual(await statuses({ ...open, wiki_access_level: "private" }), [403, 403, 200, 200]);
    assert.deepEqual(await statuses({ ...open, wiki_access_level: "disabled" }), [403, 403, 403, 403]);
    assert.deepEqual(await statuses(closed), [404, 404, 200, 200]);
    assert.deepEqual(await statuses({ ...closed, wiki_access_level: "disabled" }), [404, 404, 403, 403]);
    assert.deepEqual(await statuses({ ...open, issues_access_level: "disabled" }), [200, 200, 200, 200]);
  });

  test("features that show code are not for Guests of a private project", async () => {
    const member = await app.makeUser();
    const ask = async (visibility: number, level: "guest" | "reporter") => {
      const project = await makeProject(await makeGroup(), { visibility });
      await join(member, { project_id: project }, level);
      return (await app.put(`/rules/${project}/merge_requests`, { token: member.token })).status;
    };
    assert.equal(await ask(VISIBILITIES.private, "guest"), 403);
    assert.equal(await ask(VISIBILITIES.private, "reporter"), 200);
    assert.equal(await ask(VISIBILITIES.public, "guest"), 200);
  });

  test("the text of each rule says what the documents show", () => {
    assert.equal(rules.topLevel.access.rule, "at least Owner of the top-level group");
    assert.equal(rules.changeProject.access.rule, "at least Developer of the project, unless it is archived");
    assert.equal(rules.readProject.access.rule, "anyone who may see the project");
    assert.equal(rules.signedInViewer.access.rule, "anyone signed in who may see the project");
    assert.equal(rules.readWiki.access.rule, "anyone who may see the project, if they may use its wiki");
  });

  test("visibility is read again for every request", async () => {
    const project = await makeProject(await makeGroup(), { visibility: VISIBILITIES.private });
    await join(stranger, { project_id: project }, "guest");
    const ask = async () => (await app.get(`/rules/${project}/content`, { token: stranger.token })).status;
    assert.equal(await ask(), 200);
    await sql`update members set expires_at = (now() at time zone 'UTC')::date where project_id = ${project}`.execute(
      db(),
    );
    assert.equal(await ask(), 404);
    await sql`update members set expires_at = (now() at time zone 'UTC')::date + 1 where project_id = ${project}`.execute(
      db(),
    );
    assert.equal(await ask(), 200);
  });
});
