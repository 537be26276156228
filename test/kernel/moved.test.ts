import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import Type from "typebox";
import { inGroup, inProject } from "#access/containers.ts";
import { LEVELS, VISIBILITIES } from "#access/roles.ts";
import { endpoint } from "#http/endpoint.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const params = Type.Object({ id: Type.String(), page_of: Type.Optional(Type.String()) });
const inPlace = { params, returns: Type.Unknown() };

const places = {
  read: endpoint({
    ...inPlace,
    method: "GET",
    path: "/projects/:id/thing",
    summary: "Read something",
    access: inProject("viewer"),
    handle: ({ project }) => ({ project: project.id }),
  }),
  write: endpoint({
    ...inPlace,
    method: "POST",
    path: "/projects/:id/thing",
    summary: "Write something",
    access: inProject("developer"),
    audit: "thing_written",
    handle: ({ project }) => ({ project: project.id }),
  }),
  remove: endpoint({
    params: Type.Object({ id: Type.String(), thing_id: Type.String() }),
    method: "DELETE",
    path: "/projects/:id/thing/:thing_id",
    summary: "Remove something",
    access: inProject("developer"),
    audit: "thing_removed",
    handle: () => undefined,
  }),
  group: endpoint({
    ...inPlace,
    method: "GET",
    path: "/groups/:id/thing",
    summary: "Read something of a group",
    access: inGroup("viewer"),
    handle: ({ group }) => ({ group: group.id }),
  }),
};

describe("previous paths", () => {
  let app: TestApp;
  let member: TestUser;
  let stranger: TestUser;
  before(async () => {
    app = await testApp({ resources: { places }, env: { FAIRLEAD_EXTERNAL_URL: "https://git.example.com" } });
    member = await app.makeUser();
    stranger = await app.makeUser();
  });
  after(() => app.close());

  const db = () => app.services.db.write;
  const word = () => `w-${randomUUID()}`;

  async function makeGroup(path: string, parent_id: number | null = null) {
    const { id } = await db()
      .insertInto("namespaces")
      .values({ kind: "group", path, name: path, visibility: VISIBILITIES.private, parent_id })
      .returning("id")
      .executeTakeFirstOrThrow();
    return id;
  }
  async function makeProject(namespace_id: number, path: string) {
    const { id } = await db()
      .insertInto("projects")
      .values({ namespace_id, path, name: path })
      .returning("id")
      .executeTakeFirstOrThrow();
    return id;
  }
  const renameGroup = (id: number, path: string) =>
    db().updateTable("namespaces").set({ path }).where("id", "=", id).execute();
  const renameProject = (id: number, path: string) =>
    db().updateTable("projects").set({ path }).where("id", "=", id).execute();

  /** A project with a previous path, which a member and a stranger request. */
  async function makeMoved() {
    const [group, old, now] = [word(), word(), word()];
    const groupId = await makeGroup(group);
    const id = await makeProject(groupId, old);
    await db()
      .insertInto("members")
      .values({ group_id: groupId, user_id: member.id, access_level: LEVELS.developer })
      .execute();
    await renameProject(id, now);
    return { id, groupId, group, old, now, address: `${group}%2F${old}`, live: `${group}%2F${now}` };
  }

  test("a read is redirected by 301, a write by 308, to the id", async () => {
    const { id, address } = await makeMoved();
    const { token } = member;
    for (const method of ["GET", "HEAD"] as const) {
      const reply = await app.call(method, `/projects/${address}/thing`, { token });
      assert.equal(reply.status, 301, method);
      assert.equal(reply.headers["location"], `http://localhost/api/v4/projects/${id}/thing`);
      assert.equal(reply.headers["cache-control"], "no-cache");
    }
    const written = await app.post(`/projects/${address}/thing`, { token });
    assert.equal(written.status, 308);
    assert.equal(written.headers["location"], `http://localhost/api/v4/projects/${id}/thing`);
    const removed = await app.delete(`/projects/${address}/thing/a%2Fb%3F`, { token });
    assert.equal(removed.status, 308);
    assert.equal(removed.headers["location"], `http://localhost/api/v4/projects/${id}/thing/a%2Fb%3F`);
    const followed = await app.get(new URL(removed.headers["location"] ?? "").pathname.replace(/\/a%2F.*/, ""), {
      token,
    });
    assert.deepEqual(followed.body, { project: id });
  });

  test("the redirect keeps the query without secrets", async () => {
    const { id, address } = await makeMoved();
    const query = `page_of=a%26b&list[]=1&list[]=2&private_token=${member.token}&access_token=${member.token}&token=y`;
    const { status, headers, text } = await app.get(`/projects/${address}/thing?${query}`);
    assert.equal(status, 301);
    assert.equal(
      headers["location"],
      `http://localhost/api/v4/projects/${id}/thing?page_of=a%26b&list%5B%5D=1&list%5B%5D=2`,
    );
    assert.ok(!text.includes(member.token));
  });

  test("the redirect never leads to another host", async () => {
    const { id, address } = await makeMoved();
    const headers = { host: "evil.example.net" };
    const reply = await app.get(`/projects/${address}/thing`, { token: member.token, headers });
    assert.equal(reply.headers["location"], `https://git.example.com/api/v4/projects/${id}/thing`);
  });

  test("a caller who may not see it gets the answer for an unknown path", async () => {
    const { address, group, groupId, old, now } = await makeMoved();
    for (const token of [stranger.token, undefined]) {
      const [before, live, never] = await Promise.all(
        [address, `${group}%2F${now}`, `${group}%2F${word()}`].map((path) =>
          app.get(`/projects/${path}/thing`, { token }),
        ),
      );
      assert.equal(before?.status, 404);
      assert.deepEqual([before?.text, before?.headers["location"]], [never?.text, undefined]);
      assert.equal(live?.text, never?.text);
    }
    assert.equal((await app.post(`/projects/${address}/thing`)).status, 401);
    await renameGroup(groupId, word());
    assert.equal((await app.get(`/projects/${group}%2F${old}/thing`, { token: stranger.token })).status, 404);
  });

  test("current and previous paths are case-insensitive", async () => {
    const { id, address, live } = await makeMoved();
    const { token } = member;
    assert.deepEqual((await app.get(`/projects/${live.toUpperCase().replace("%2f", "%2F")}/thing`, { token })).body, {
      project: id,
    });
    assert.equal((await app.get(`/projects/${address.toUpperCase()}/thing`, { token })).status, 301);
    await renameProject(id, live.split("%2F")[1]?.toUpperCase() ?? "");
    assert.equal((await app.get(`/projects/${live}/thing`, { token })).status, 200, "a change of case is no move");
  });

  test("a current path takes precedence over a previous one at any depth", async () => {
    const { id, groupId, address, old } = await makeMoved();
    const { token } = member;
    const newcomer = await makeProject(groupId, old);
    assert.deepEqual((await app.get(`/projects/${address}/thing`, { token })).body, { project: newcomer });
    await db().deleteFrom("projects").where("id", "=", newcomer).execute();
    assert.equal((await app.get(`/projects/${address}/thing`, { token })).status, 301);
    await renameProject(id, old);
    assert.deepEqual((await app.get(`/projects/${address}/thing`, { token })).body, { project: id });
  });

  test("a new group at a previous path hides only what it contains", async () => {
    const { id, groupId, group, now } = await makeMoved();
    const { token } = member;
    await renameGroup(groupId, word());
    const newcomer = await makeGroup(group);
    await db()
      .insertInto("members")
      .values({ group_id: newcomer, user_id: member.id, access_level: LEVELS.guest })
      .execute();
    const ask = () => app.get(`/projects/${group}%2F${now}/thing`, { token });
    assert.equal((await ask()).headers["location"], `http://localhost/api/v4/projects/${id}/thing`);
    const live = await makeProject(newcomer, now);
    assert.deepEqual((await ask()).body, { project: live });
  });

  test("a renamed group redirects the paths of everything in it", async () => {
    const [top, below, path, renamed] = [word(), word(), word(), word()];
    const topId = await makeGroup(top);
    const belowId = await makeGroup(below, topId);
    const id = await makeProject(belowId, path);
    const { token } = member;
    await db()
      .insertInto("members")
      .values({ group_id: topId, user_id: member.id, access_level: LEVELS.guest })
      .execute();
    await renameGroup(topId, renamed);
    const old = await app.get(`/projects/${top}%2F${below}%2F${path}/thing`, { token });
    assert.equal(old.status, 301);
    assert.equal(old.headers["location"], `http://localhost/api/v4/projects/${id}/thing`);
    assert.equal((await app.get(`/projects/${renamed}%2F${below}%2F${path}/thing`, { token })).status, 200);
    const group = await app.get(`/groups/${top}%2F${below}/thing`, { token });
    assert.equal(group.status, 301);
    assert.equal(group.headers["location"], `http://localhost/api/v4/groups/${belowId}/thing`);
    assert.equal(
      (await app.get(`/groups/${top}/thing`, { token })).headers["location"]?.endsWith(`/${topId}/thing`),
      true,
    );
    assert.equal((await app.get(`/groups/${top}/thing`, { token: stranger.token })).status, 404);
  });

  test("the path of a project does not name a group, nor the reverse", async () => {
    const { group, now, live } = await makeMoved();
    const { token } = member;
    assert.equal((await app.get(`/groups/${live}/thing`, { token })).status, 404);
    assert.equal((await app.get(`/projects/${group}/thing`, { token })).status, 404);
    assert.equal((await app.get(`/projects/${group}/${now}/thing`, { token })).status, 404, "a slash must be encoded");
  });

  test("the path of a deleted project or group does not redirect", async () => {
    const { id, address, live } = await makeMoved();
    await db().deleteFrom("projects").where("id", "=", id).execute();
    for (const path of [address, live])
      assert.equal((await app.get(`/projects/${path}/thing`, { token: member.token })).status, 404);
  });
});
