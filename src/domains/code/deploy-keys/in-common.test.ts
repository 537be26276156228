import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";
import { keysOn } from "./test-support.ts";

describe("GET /users/:id_or_username/project_deploy_keys", () => {
  let app: TestApp;
  let on: ReturnType<typeof keysOn>;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    on = keysOn(app);
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const ask = (user: { id: number | string }, token: string | undefined, query = "") =>
    app.get(`/users/${user.id}/project_deploy_keys${query}`, { token });
  const ids = (body: { id: number }[]) => body.map(({ id }) => id);
  const nothing = { message: "403 Forbidden - No common authorized project found" };

  /** Two users, and a project that both maintain. */
  async function couple() {
    const [user, caller] = [await app.makeUser(), await app.makeUser()];
    const project = await on.keyProject(user);
    await on.member(caller, { project_id: project.id }, "maintainer");
    return { user, caller, project };
  }

  test("lists only keys that are enabled in common projects, whoever added them", async () => {
    const { user, caller, project } = await couple();
    const common = [await on.added(project), await on.added({ ...project, maintainer: caller })];
    const alone = await on.added(await on.keyProject(user));
    const foreign = await on.added(await on.keyProject(caller));
    const payload = { title: "Public", key: newSshKey() };
    const open = await app.post("/deploy_keys", { token: admin.token, payload });
    const { status, body } = await ask(user, caller.token);
    assert.equal(status, 200);
    const { can_push: _, creator_active: __, ...plain } = common[0];
    assert.deepEqual(ids(body), ids(common));
    assert.deepEqual(body[0], plain);
    assert.deepEqual(ids((await ask({ id: user.username.toUpperCase() }, caller.token)).body), ids(common));
    assert.deepEqual(
      ids((await ask(user, user.token)).body),
      ids([...common, alone]),
      "one's own: of all one maintains",
    );
    assert.deepEqual(ids((await ask(user, admin.token)).body), ids([...common, alone]));
    await app.post(`${project.keys}/${open.body.id}/enable`, { token: caller.token });
    const { body: wider } = await ask(caller, user.token);
    assert.deepEqual(ids(wider), ids([...common, open.body]));
    assert.ok(!ids(wider).includes(foreign.id));
  });

  test("paging lists a key once, in however many projects it is enabled", async () => {
    const { user, caller, project } = await couple();
    const other = await on.keyProject(user);
    await on.member(caller, { project_id: other.id }, "owner");
    const keys = [await on.added(project), await on.added(project), await on.added(other)];
    await app.post(`${other.keys}/${keys[0].id}/enable`, { token: user.token });
    const first = await ask(user, caller.token, "?per_page=2");
    assert.deepEqual([ids(first.body), first.headers["x-total"]], [ids(keys.slice(0, 2)), "3"]);
    const second = await ask(user, caller.token, "?per_page=2&page=2");
    assert.deepEqual([ids(second.body), second.headers["x-total"]], [[keys[2].id], "3"]);
  });

  test("more than ten thousand keys have no total, and keyset paging lists them", async () => {
    const { user, caller, project } = await couple();
    const foreign = await on.added(await on.keyProject(caller));
    const { rows } = await sql<{ id: number }>`
      with made as (
        insert into keys (kind, user_id, title, key, fingerprint_sha256)
        select 'deploy', ${user.id}, 'Many', 'ssh-ed25519 x', ${`many-${user.id}-`} || n from generate_series(1, 10001) n
        returning id)
      insert into deploy_keys_projects (project_id, key_id) select ${project.id}, id from made returning key_id as id`.execute(
      app.services.db.write,
    );
    const all = ids(rows).toSorted((a, b) => a - b);
    const first = await ask(user, caller.token, "?per_page=100");
    assert.deepEqual([ids(first.body), first.headers["x-total"]], [all.slice(0, 100), undefined]);
    assert.ok(!ids(first.body).includes(foreign.id));
    const position = await ask(user, caller.token, "?per_page=50&pagination=keyset");
    const next = /<([^>]+)>; rel="next"/.exec(position.headers["link"] ?? "")?.[1] ?? "";
    const { pathname, search } = new URL(next);
    const { body } = await app.get(pathname + search, { token: caller.token });
    assert.deepEqual(ids(body), all.slice(50, 100));
    assert.equal((await ask(user, caller.token, "?per_page=100&page=501")).status, 405);
    assert.equal((await ask(await app.makeUser(), caller.token)).status, 403);
  });

  test("403 unless both maintain a common project", async () => {
    const { user, caller, project } = await couple();
    await on.added(project);
    const stranger = await app.makeUser();
    for (const level of [10, 20, 30]) {
      await sql`update members set access_level = ${level} where user_id = ${caller.id}`.execute(app.services.db.write);
      const { status, body } = await ask(user, caller.token);
      assert.deepEqual([status, body], [403, nothing], String(level));
      assert.equal((await ask(caller, user.token)).status, 403);
    }
    assert.deepEqual((await ask(user, stranger.token)).body, nothing);
    assert.deepEqual((await ask(stranger, stranger.token)).body, nothing);
    const { body } = await ask(await app.makeUser(), admin.token);
    assert.deepEqual(body, nothing);
  });

  test("a common project without keys is an empty list", async () => {
    const { user, caller } = await couple();
    const { status, body } = await ask(user, caller.token);
    assert.deepEqual([status, body], [200, []]);
  });

  test("memberships in groups and shares count as well", async () => {
    const [user, caller] = [await app.makeUser(), await app.makeUser()];
    const [group, guests] = [await on.group(), await on.group()];
    const project = await on.keyProject();
    await sql`update projects set namespace_id = ${group} where id = ${project.id}`.execute(app.services.db.write);
    const key = await on.added(project);
    await on.member(user, { group_id: group }, "maintainer");
    await on.member(caller, { group_id: guests }, "maintainer");
    await on.share({ project_id: project.id }, guests, "developer");
    assert.equal((await ask(user, caller.token)).status, 403);
    await sql`update shares set access_level = 40 where project_id = ${project.id}`.execute(app.services.db.write);
    assert.deepEqual(ids((await ask(user, caller.token)).body), [key.id]);
    assert.deepEqual(ids((await ask(caller, user.token)).body), [key.id]);
  });

  test("404 for an unknown user, and 401 for every anonymous caller", async () => {
    const { user, caller } = await couple();
    for (const id of ["nobody-here", "4503599627370495"]) {
      const { status, body } = await ask({ id }, caller.token);
      assert.deepEqual([status, body], [404, { message: "404 User Not Found" }]);
    }
    for (const id of ["nobody-here", user.username, user.id]) {
      const { status, body } = await ask({ id }, undefined);
      assert.deepEqual([status, body], [401, { message: "401 Unauthorized" }]);
    }
  });

  test("a private profile is refused to others", async () => {
    const { user, caller, project } = await couple();
    const key = await on.added(project);
    await sql`update users set private_profile = true where id = ${user.id}`.execute(app.services.db.write);
    const { status, body } = await ask(user, caller.token);
    assert.deepEqual([status, body], [403, nothing]);
    for (const token of [user.token, admin.token]) assert.deepEqual(ids((await ask(user, token)).body), [key.id]);
  });
});
