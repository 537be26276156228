import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Type from "typebox";
import { join, makeGroup, makeProject, shaped, word } from "#domains/organization/groups/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { Namespace, PathTaken } from "./entity.ts";

describe("namespaces", () => {
  let app: TestApp;
  let admin: TestUser;
  let owner: TestUser;
  let member: TestUser;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    admin = await app.makeUser({ admin: true });
    owner = await app.makeUser({ username: "captain", name: "The Captain" });
    member = await app.makeUser();
  });
  after(() => app.close());

  const paths = async (query: string, user: TestUser) =>
    shaped(await app.get(`/namespaces${query}`, { token: user.token }), 200, Type.Array(Namespace)).map(
      ({ full_path }: { full_path: string }) => full_path,
    );

  test("are the user's personal namespace and groups; for administrators all", async () => {
    const top = await makeGroup(app, owner, { name: "Fleet", visibility: "public" });
    const sub = await makeGroup(app, owner, { parent_id: top.id });
    const stranger = await app.makeUser();
    assert.deepEqual(await paths("", stranger), [stranger.username], "public groups are others' places");
    assert.deepEqual(await paths("", owner), [owner.username, top.full_path, sub.full_path]);
    assert.deepEqual(await paths("?top_level_only=true", owner), [owner.username, top.full_path]);
    assert.deepEqual(await paths("?search=fleet", owner), [top.full_path]);
    assert.deepEqual(await paths("?search=CAPT", owner), [owner.username]);
    await join(app, sub.id, member, 40);
    assert.deepEqual(await paths("", member), [member.username, sub.full_path]);
    assert.deepEqual(await paths("?owned_only=true", member), [member.username]);
    const minimal = await app.makeUser();
    await join(app, top.id, minimal, 5);
    assert.deepEqual(await paths("", minimal), [top.full_path, minimal.username]);

    const all = await paths("?per_page=100", admin);
    for (const path of [owner.username, stranger.username, sub.full_path]) assert.ok(all.includes(path));
    assert.deepEqual(await paths("?search=fleet", admin), [top.full_path]);
    assert.deepEqual(await paths("?search=captain", admin), [owner.username]);
    assert.deepEqual(await paths("?owned_only=true", admin), [admin.username]);
    assert.equal((await app.get("/namespaces")).status, 401);
  });

  test("are found by id and path: one's own, and visible groups", async () => {
    const group = await makeGroup(app, owner);
    const own = shaped(await app.get(`/namespaces/${owner.username}`, { token: owner.token }), 200, Namespace);
    assert.deepEqual(own, {
      id: own.id,
      name: own.name,
      path: owner.username,
      kind: "user",
      full_path: owner.username,
      parent_id: null,
      avatar_url: `http://localhost/uploads/-/system/user/avatar/${owner.id}/default.svg`,
      web_url: `http://localhost/${owner.username}`,
    });
    const seen = shaped(await app.get(`/namespaces/${group.id}`, { token: owner.token }), 200, Namespace);
    assert.deepEqual(
      [seen.kind, seen.full_path, seen.avatar_url, seen.web_url],
      ["group", group.path, null, `http://localhost/groups/${group.path}`],
    );
    for (const name of [group.id, group.path, own.id, owner.username, word(), 4_503_599_627_370_495]) {
      const { status, text } = await app.get(`/namespaces/${name}`, { token: member.token });
      assert.deepEqual([status, text], [404, '{"message":"404 Namespace Not Found"}'], String(name));
    }
    for (const name of [group.id, own.id]) {
      shaped(await app.get(`/namespaces/${name}`, { token: admin.token }), 200, Namespace);
    }
    assert.equal((await app.get(`/namespaces/${group.id}`)).status, 401);
  });

  test("of a user are renamed with the username, and previous paths redirect", async () => {
    const user = await app.makeUser();
    const renamed = word("user");
    const change = { token: admin.token, payload: { username: renamed, name: "New Name" } };
    assert.equal((await app.put(`/users/${user.id}`, change)).status, 200);
    const old = await app.get(`/namespaces/${user.username}?a=1`, { token: user.token });
    assert.equal(old.status, 301);
    const { body } = await app.get(old.headers["location"]?.replace("http://localhost", "") ?? "", {
      token: user.token,
    });
    assert.deepEqual([body.name, body.path, body.full_path], ["New Name", renamed, renamed]);
    assert.match(old.headers["location"] ?? "", new RegExp(`/api/v4/namespaces/${body.id}\\?a=1$`));
    assert.equal((await app.get(`/namespaces/${user.username}`, { token: member.token })).status, 404);

    const project = await makeProject(app, body.id, { visibility: 20 });
    const moved = await app.get(`/projects/${user.username}%2F${project.path}`);
    assert.deepEqual(
      [moved.status, moved.headers["location"]],
      [301, `http://localhost/api/v4/projects/${project.id}`],
    );
  });

  test("report whether a path is taken, and suggest a free one", async () => {
    const top = await makeGroup(app, owner, { visibility: "public" });
    const sub = await makeGroup(app, owner, { parent_id: top.id });
    const project = await makeProject(app, top.id);
    const asked = async (path: string, user: TestUser, parent_id?: number) =>
      shaped(
        await app.get(`/namespaces/${path}/exists${parent_id === undefined ? "" : `?parent_id=${parent_id}`}`, {
          token: user.token,
        }),
        200,
        PathTaken,
      );
    const free = { exists: false, suggests: [] };
    assert.deepEqual(await asked(top.path.toUpperCase(), member), {
      exists: true,
      suggests: [`${top.path.toUpperCase()}1`],
    });
    await makeGroup(app, owner, { path: `${top.path}1` });
    assert.deepEqual((await asked(top.path, member)).suggests, [`${top.path}2`]);
    assert.equal((await asked(owner.username, member)).exists, true);
    assert.deepEqual(await asked(word(), member), free);
    assert.deepEqual(await asked(sub.path, owner), free, "not at the top");
    assert.equal((await asked(sub.path, owner, top.id)).exists, true);
    assert.equal((await asked(project.path, admin, top.id)).exists, true);
    assert.deepEqual(await asked(sub.path, member, top.id), free, "what is in a group is its members' to know");
    assert.deepEqual(await asked(sub.path, member, 4_503_599_627_370_495), free);
    assert.equal((await app.get(`/namespaces/${top.path}/exists`)).status, 401);
  });
});
