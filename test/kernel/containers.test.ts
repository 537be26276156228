import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import Type from "typebox";
import { inGroup, inProject, inTopLevelGroup } from "#access/containers.ts";
import { LEVELS, VISIBILITIES } from "#access/roles.ts";
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
};

describe("rules about one group or project", () => {
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

  async function makeProject(namespace_id: number, columns: { visibility?: number; archived?: boolean } = {}) {
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

  test("a rule for a top-level group refuses a subgroup, after everything that hides it", async () => {
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

  test("what is archived, itself or by a group above, is not changed but still read", async () => {
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

  test("that something is archived is told only to those who might have changed it", async () => {
    const project = await makeProject(await makeGroup(), { archived: true });
    const hidden = await app.post(`/rules/${project}/content`, { token: stranger.token });
    const absent = await app.post("/rules/4503599627370495/content", { token: stranger.token });
    assert.equal(hidden.status, 404);
    assert.equal(hidden.text, absent.text);
    await db().updateTable("projects").set({ visibility: VISIBILITIES.public }).where("id", "=", project).execute();
    const seen = await app.post(`/rules/${project}/content`, { token: stranger.token });
    assert.deepEqual(seen.body, { message: "403 Forbidden" });
  });

  test("a viewer need not be signed in unless the rule says so", async () => {
    const project = await makeProject(await makeGroup(), { visibility: VISIBILITIES.public });
    assert.equal((await app.get(`/rules/${project}/content`)).body.actor, null);
    assert.equal((await app.get(`/rules/${project}/signed_in`)).status, 401);
    assert.equal((await app.get(`/rules/${project}/signed_in`, { token: stranger.token })).body.actor, stranger.id);
  });

  test("a rule names the scopes that open it", async () => {
    const project = await makeProject(await makeGroup(), { visibility: VISIBILITIES.public });
    const { token } = await app.makeToken(stranger.id, { scopes: ["read_repository"] });
    assert.equal((await app.get(`/rules/${project}/signed_in`, { token })).status, 200);
    assert.equal((await app.get(`/rules/${project}/content`, { token })).status, 403);
  });

  test("refusals come in one order: 401, 404, 403, 400", async () => {
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

  test("a number is an id even where a group is called by it", async () => {
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

  test("the words of the rules are what the documents show", () => {
    assert.equal(rules.topLevel.access.rule, "at least Owner of the top-level group");
    assert.equal(rules.changeProject.access.rule, "at least Developer of the project, unless it is archived");
    assert.equal(rules.readProject.access.rule, "anyone who may see the project");
    assert.equal(rules.signedInViewer.access.rule, "anyone signed in who may see the project");
  });

  test("what a caller may see is read anew for every request", async () => {
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
