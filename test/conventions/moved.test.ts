import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { resources } from "#domains/index.ts";
import { type Call, type Reply, type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const CONTAINERS = /^\/(?:(projects|groups|namespaces)|uploads\/-\/system\/(project|group)\/avatar)\/:id(?!\/exists)/;

/** Every endpoint that finds a project or group by the id in its path. */
const places = Object.values(resources)
  .flatMap((operations) => Object.values(operations))
  .flatMap(({ method, path, mount }) => {
    const [, plural, single = plural?.slice(0, -1)] = CONTAINERS.exec(path) ?? [];
    const at = (id: string | number) =>
      (mount === "root" ? "" : "/api/v4") + path.replace(":id", String(id)).replaceAll(/:\w+/g, "7");
    return single === undefined ? [] : [{ method, kind: single === "project" ? "project" : "group", at }];
  });

describe("moved projects and groups", () => {
  let app: TestApp;
  let owner: TestUser;
  let admin: TestUser;
  let stranger: TestUser;
  before(async () => {
    app = await testApp({ env: { FAIRLEAD_EXTERNAL_URL: "https://git.example.com" } });
    owner = await app.makeUser();
    admin = await app.makeUser({ admin: true });
    stranger = await app.makeUser();
  });
  after(() => app.close());

  const word = () => `w-${randomUUID().slice(0, 13)}`;

  async function done(reply: Promise<Reply>): Promise<any> {
    const { status, text, body } = await reply;
    assert.ok(status < 300, `${status} ${text}`);
    return body;
  }
  const makeGroup = (given: object = {}, path = word()) =>
    done(app.post("/groups", { token: owner.token, payload: { name: path, path, ...given } }));
  const makeProject = (given: object, path = word()) =>
    done(app.post("/projects", { token: owner.token, payload: { name: path, path, ...given } }));
  const rename = (kind: "groups" | "projects", { id }: { id: number }, path = word()) =>
    done(app.put(`/${kind}/${id}`, { token: owner.token, payload: { path } }));
  const idOf = (path: string) => encodeURIComponent(path);

  /** A private group with a project in it, and the previous paths of both. */
  async function makeMoved(visibility = "private") {
    const group = await makeGroup({ visibility });
    const project = await makeProject({ namespace_id: group.id, visibility });
    const addresses = { group: idOf(group.full_path), project: idOf(project.path_with_namespace) };
    await rename("projects", project);
    await rename("groups", group);
    return { ids: { group: group.id, project: project.id } as Record<string, number>, addresses, group, project };
  }

  test("the list of endpoints is complete", () => {
    assert.ok(places.length >= 40, String(places.length));
    for (const kind of ["project", "group"]) {
      for (const method of ["GET", "POST", "PUT", "DELETE"]) {
        assert.ok(
          places.some((place) => place.kind === kind && place.method === method),
          `${method} of a ${kind}`,
        );
      }
    }
  });

  test("every endpoint: GET and HEAD 301, other verbs 308, Location with the numeric id, and nothing changes", async () => {
    const { ids, addresses } = await makeMoved();
    const state = async () => [
      (await app.get(`/projects/${ids["project"]}`, { token: owner.token })).text,
      (await app.get(`/groups/${ids["group"]}`, { token: owner.token })).text,
      (await app.get(`/projects/${ids["project"]}/members/all`, { token: owner.token })).text,
      (await app.get(`/groups/${ids["group"]}/audit_events`, { token: owner.token })).text,
    ];
    const before = await state();
    for (const { method, kind, at } of places) {
      const target = at(addresses[kind as "group" | "project"]);
      for (const verb of method === "GET" ? (["GET", "HEAD"] as const) : [method]) {
        const reply = await app.call(verb, target, { token: owner.token });
        assert.equal(reply.status, method === "GET" ? 301 : 308, `${verb} ${target}: ${reply.text}`);
        assert.equal(reply.headers["location"], `http://localhost${at(ids[kind] ?? 0)}`, `${verb} ${target}`);
        assert.equal(reply.headers["content-type"], "application/json", `${verb} ${target}`);
      }
    }
    assert.deepEqual(await state(), before);
  });

  test("every endpoint: a caller who may not see it gets the same bytes as for an unknown path", async () => {
    const { addresses } = await makeMoved();
    const ask = async (method: Parameters<TestApp["call"]>[0], target: string, call: Call) => {
      const { status, text, headers } = await app.call(method, target, call);
      const { "x-request-id": _id, date: _date, ...rest } = headers;
      return { status, text, headers: rest };
    };
    for (const { method, kind, at } of places) {
      for (const token of [stranger.token, undefined]) {
        const moved = await ask(method, at(addresses[kind as "group" | "project"]), { token });
        const never = await ask(method, at(kind === "group" ? word() : `${word()}%2F${word()}`), { token });
        assert.deepEqual(moved, never, `${method} ${at("ID")}`);
        assert.ok(moved.status === 404 || (moved.status === 401 && !token), `${method} ${at("ID")}: ${moved.status}`);
      }
    }
  });

  test("visibility decides who is redirected, not membership", async () => {
    const statuses = async (address: string) =>
      Promise.all(
        [undefined, stranger.token, admin.token].map(async (token) => {
          return (await app.get(`/projects/${address}`, { token })).status;
        }),
      );
    assert.deepEqual(await statuses((await makeMoved("public")).addresses.project), [301, 301, 301]);
    assert.deepEqual(await statuses((await makeMoved("internal")).addresses.project), [404, 301, 301]);
    assert.deepEqual(await statuses((await makeMoved("private")).addresses.project), [404, 404, 301]);
  });

  test("a caller who lost access is no longer redirected", async () => {
    const { ids, addresses } = await makeMoved();
    const ask = async () => (await app.get(`/projects/${addresses.project}`, { token: stranger.token })).status;
    const members = `/projects/${ids["project"]}/members`;
    await done(app.post(members, { token: owner.token, payload: { user_id: stranger.id, access_level: 10 } }));
    assert.equal(await ask(), 301);
    await done(app.delete(`${members}/${stranger.id}`, { token: owner.token }));
    assert.equal(await ask(), 404);
  });

  test("a forbidden write is redirected too, and refused there", async () => {
    const { ids, addresses } = await makeMoved("public");
    const moved = await app.put(`/projects/${addresses.project}`, { token: stranger.token, payload: { name: "x" } });
    assert.equal(moved.status, 308);
    const there = await app.put(`/projects/${ids["project"]}`, { token: stranger.token, payload: { name: "x" } });
    assert.equal(there.status, 403);
  });

  test("Location is on our own host, keeps the query and contains no token", async () => {
    const { ids, addresses } = await makeMoved();
    const { token } = await app.makeToken(admin.id, { scopes: ["api", "sudo"] });
    const query = `query=a%26b&user_ids[]=1&user_ids[]=2&private_token=${token}&sudo=${owner.username}`;
    const { status, headers, text } = await app.get(`/projects/${addresses.project}/members?${query}`, {
      headers: { host: "evil.example.net" },
    });
    assert.equal(status, 301);
    assert.equal(
      headers["location"],
      `https://git.example.com/api/v4/projects/${ids["project"]}/members` +
        `?query=a%26b&user_ids%5B%5D=1&user_ids%5B%5D=2&sudo=${owner.username}`,
    );
    assert.ok(!text.includes(token));
  });

  test("a current path takes precedence over a previous one, and the latest of several previous ones", async () => {
    const group = await makeGroup();
    const path = word();
    const old = idOf(`${group.full_path}/${path}`);
    const ask = () => app.get(`/projects/${old}`, { token: owner.token });
    const locationOf = async () => (await ask()).headers["location"]?.split("/").at(-1);

    const first = await makeProject({ namespace_id: group.id }, path);
    await rename("projects", first);
    assert.equal(await locationOf(), String(first.id));
    const second = await makeProject({ namespace_id: group.id }, path);
    assert.equal((await ask()).body.id, second.id);
    await rename("projects", second);
    assert.equal(await locationOf(), String(second.id));
    await rename("projects", first, path);
    assert.equal((await ask()).body.id, first.id);
  });

  test("below a previous path of the group a current path takes precedence too", async () => {
    // Several times, because an arbitrary choice would be correct in some of them.
    for (let round = 0; round < 3; round++) {
      const group = await makeGroup();
      const path = word();
      const leaver = await makeProject({ namespace_id: group.id }, path);
      await rename("projects", leaver);
      const stayer = await makeProject({ namespace_id: group.id }, path);
      await rename("groups", group);
      const old = `/projects/${idOf(`${group.full_path}/${path}`)}`;
      const locationOf = async () =>
        (await app.get(old, { token: owner.token })).headers["location"]?.split("/").at(-1);
      assert.equal(await locationOf(), String(stayer.id));

      const newcomer = await makeGroup({}, group.path);
      const guest = await makeProject({ namespace_id: newcomer.id }, path);
      await rename("projects", guest);
      assert.equal(await locationOf(), String(guest.id), "the last that had this address");
    }
  });

  test("every previous path redirects in one step", async () => {
    const group = await makeGroup();
    const project = await makeProject({ namespace_id: group.id });
    const addresses: string[] = [];
    for (const kind of ["projects", "groups", "projects", "groups"] as const) {
      const { body } = await app.get(`/projects/${project.id}`, { token: owner.token });
      addresses.push(idOf(body.path_with_namespace));
      await rename(kind, kind === "projects" ? project : group);
    }
    assert.equal(new Set(addresses).size, 4);
    for (const address of addresses) {
      const { status, headers } = await app.get(`/projects/${address}`, { token: owner.token });
      assert.deepEqual([status, headers["location"]], [301, `http://localhost/api/v4/projects/${project.id}`]);
    }
  });

  test("renaming or moving a group redirects the paths of everything in it", async () => {
    const [top, other] = [await makeGroup(), await makeGroup()];
    const below = await makeGroup({ parent_id: top.id });
    const project = await makeProject({ namespace_id: below.id });
    const old = { group: idOf(below.full_path), project: idOf(project.path_with_namespace) };
    const locations = async () =>
      Promise.all(
        [`/groups/${old.group}`, `/projects/${old.project}`].map(
          async (path) => (await app.get(path, { token: owner.token })).headers["location"],
        ),
      );
    const expected = [`http://localhost/api/v4/groups/${below.id}`, `http://localhost/api/v4/projects/${project.id}`];
    await rename("groups", top);
    assert.deepEqual(await locations(), expected);
    await done(app.post(`/groups/${below.id}/transfer`, { token: owner.token, payload: { group_id: other.id } }));
    assert.deepEqual(await locations(), expected);
    await done(app.post(`/groups/${below.id}/transfer`, { token: owner.token }));
    assert.deepEqual(await locations(), expected);
    await done(app.put(`/projects/${project.id}/transfer`, { token: owner.token, payload: { namespace: other.id } }));
    assert.deepEqual(await locations(), expected);
  });

  test("the projects of a renamed user redirect from the old name", async () => {
    const user = await app.makeUser();
    const payload = { name: "Own", path: "own" };
    const project = await done(app.post("/projects", { token: user.token, payload }));
    await done(app.put(`/users/${user.id}`, { token: admin.token, payload: { username: word() } }));
    const { status, headers } = await app.get(`/projects/${user.username}%2Fown`, { token: user.token });
    assert.deepEqual([status, headers["location"]], [301, `http://localhost/api/v4/projects/${project.id}`]);
  });
});
