import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { GroupDetail } from "./entity.ts";
import { join, makeGroup, makeProject, shaped, word } from "./test-support.ts";

describe("groups", () => {
  let app: TestApp;
  let admin: TestUser;
  let owner: TestUser;
  let stranger: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
    owner = await app.makeUser();
    stranger = await app.makeUser();
  });
  after(() => app.close());

  const create = (payload: Record<string, unknown>, token = owner.token) => app.post("/groups", { token, payload });
  const change = (id: number, payload: Record<string, unknown>, token = owner.token) =>
    app.put(`/groups/${id}`, { token, payload });

  test("a new group has its creator as Owner and is private by default", async () => {
    const path = word("Team");
    const body = shaped(await create({ name: "The Team (new)", path, description: "About us" }), 201, GroupDetail);
    assert.deepEqual(
      [body.name, body.path, body.full_path, body.full_name, body.description, body.visibility, body.parent_id],
      ["The Team (new)", path, path, "The Team (new)", "About us", "private", null],
    );
    assert.equal(body.web_url, `http://localhost/groups/${path}`);
    assert.equal(body.avatar_url, null);
    assert.deepEqual([body.archived, body.marked_for_deletion_on, body.shared_with_groups], [false, null, []]);
    assert.deepEqual([body.project_creation_level, body.subgroup_creation_level], ["developer", "maintainer"]);
    assert.deepEqual([body.emails_enabled, body.emails_disabled, body.lfs_enabled], [true, false, false]);
    const members = await app.services.db.write
      .selectFrom("members")
      .select(["user_id", "access_level", "expires_at"])
      .where("group_id", "=", body.id)
      .execute();
    assert.deepEqual(members, [{ user_id: owner.id, access_level: 50, expires_at: null }]);
  });

  test("a group is found by id and by path in any case, with its projects unless excluded", async () => {
    const top = await makeGroup(app, owner, { name: "Top", visibility: "public" });
    const sub = await makeGroup(app, owner, { name: "Sub", parent_id: top.id, visibility: "public" });
    const shown = await makeProject(app, sub.id, { visibility: 20 });
    const hidden = await makeProject(app, sub.id);
    const names = (projects: { name: string }[]) => projects.map(({ name }) => name);

    const mine = shaped(
      await app.get(`/groups/${encodeURIComponent(sub.full_path.toUpperCase())}`, { token: owner.token }),
      200,
      GroupDetail,
    );
    assert.deepEqual([mine.full_path, mine.full_name], [`${top.path}/${sub.path}`, "Top / Sub"]);
    assert.deepEqual(names(mine.projects), [hidden.name, shown.name]);
    const anonymous = shaped(await app.get(`/groups/${sub.id}`), 200, GroupDetail);
    assert.deepEqual(names(anonymous.projects), [shown.name]);
    assert.deepEqual(anonymous.shared_projects, []);
    const plain = shaped(await app.get(`/groups/${sub.id}?with_projects=false`), 200, GroupDetail);
    assert.deepEqual(["projects" in plain, "shared_projects" in plain], [false, false]);
  });

  test("a hidden group is byte for byte the same as a missing one, for every method", async () => {
    const { id, path } = await makeGroup(app, owner);
    const asked = [
      ["GET", ""],
      ["GET", "/subgroups"],
      ["GET", "/descendant_groups"],
      ["PUT", ""],
      ["DELETE", ""],
      ["POST", "/restore"],
      ["POST", "/archive"],
      ["POST", "/unarchive"],
      ["POST", "/transfer"],
      ["POST", "/share"],
      ["DELETE", "/share/1"],
    ] as const;
    for (const [verb, rest] of asked) {
      for (const name of [id, path]) {
        const hidden = await app.call(verb, `/groups/${name}${rest}`, { token: stranger.token });
        const missing = await app.call(verb, `/groups/${word()}${rest}`, { token: stranger.token });
        assert.deepEqual([hidden.status, hidden.text], [404, '{"message":"404 Group Not Found"}'], `${verb} ${rest}`);
        assert.equal(hidden.text, missing.text);
      }
    }
    const image = await app.get(`/uploads/-/system/group/avatar/${id}/avatar.png`);
    assert.deepEqual([image.status, image.text], [404, '{"message":"404 Group Not Found"}']);
    // A user's own namespace is no group.
    assert.equal((await app.get(`/groups/${owner.username}`, { token: owner.token })).status, 404);
  });

  test("only Owners change a group that others see", async () => {
    const { id } = await makeGroup(app, owner, { visibility: "public" });
    const maintainer = await app.makeUser();
    await join(app, id, maintainer, 40);
    for (const { token } of [maintainer, stranger]) {
      assert.equal((await change(id, { name: "mine" }, token)).status, 403);
      assert.equal((await app.delete(`/groups/${id}`, { token })).status, 403);
      for (const act of ["restore", "archive", "unarchive", "transfer", "share"]) {
        assert.equal((await app.post(`/groups/${id}/${act}`, { token })).status, 403, act);
      }
      assert.equal((await app.delete(`/groups/${id}/share/1`, { token })).status, 403);
    }
    assert.equal((await app.put(`/groups/${id}`, { payload: { name: "x" } })).status, 401);
    assert.equal((await change(id, { name: "theirs" }, admin.token)).status, 200);
  });

  test("every setting is stored and shown; those that are not sent stay", async () => {
    const { id } = await makeGroup(app, owner, { request_access_enabled: false });
    const settings = {
      description: "Changed",
      project_creation_level: "maintainer",
      subgroup_creation_level: "owner",
      share_with_group_lock: true,
      require_two_factor_authentication: true,
      two_factor_grace_period: 24,
      auto_devops_enabled: true,
      mentions_disabled: true,
      lfs_enabled: false,
      default_branch: "trunk",
      default_branch_protection: 1,
      shared_runners_setting: "disabled_and_overridable",
      membership_lock: true,
      prevent_sharing_groups_outside_hierarchy: true,
      wiki_access_level: "private",
    };
    const body = shaped(await change(id, { ...settings, emails_disabled: true }), 200, GroupDetail);
    for (const [name, value] of Object.entries(settings)) assert.equal(body[name], value, name);
    assert.deepEqual([body.emails_enabled, body.emails_disabled], [false, true]);
    const again = shaped(await change(id, { membership_lock: false }), 200, GroupDetail);
    assert.deepEqual(
      [again.membership_lock, again.default_branch, again.request_access_enabled, again.emails_enabled],
      [false, "trunk", false, false],
    );
    assert.equal((await change(id, { shared_runners_setting: "maybe" })).status, 400);
  });

  test("names and paths", async () => {
    const refused = async (given: Record<string, unknown>) => {
      const { status, body } = await create({ name: "n", path: word(), ...given });
      assert.equal(status, 400);
      return body.message;
    };
    const LETTERS =
      "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'.";
    for (const path of ["-a", "a.", "a.git", "a.ATOM", "a b", "a/b", "ä", "."]) {
      assert.deepEqual(await refused({ path }), { path: [LETTERS] }, path);
    }
    assert.deepEqual(await refused({ path: "Admin" }), { path: ["Admin is a reserved name"] });
    assert.deepEqual(await refused({ path: "x".repeat(256) }), { path: ["is too long (maximum is 255 characters)"] });
    for (const name of ["<b>", "-dash first", "a#b", "a*b", ".dot"]) {
      assert.match((await refused({ name })).name[0], /^can contain only letters, digits, emoji/, name);
    }
    assert.match((await refused({ description: "x".repeat(501) })).description[0], /is too long/);
    for (const name of ["Über (uns)", "🚀 launch", "7 of 9", "_x - y.z"]) {
      assert.equal((await create({ name, path: word() })).status, 201, name);
    }
    const parent = await makeGroup(app, owner);
    assert.deepEqual(await refused({ path: "tree", parent_id: parent.id }), { path: ["tree is a reserved name"] });
    assert.equal((await create({ name: "n", path: "admin", parent_id: parent.id })).status, 201);
    const { body } = await create({});
    assert.deepEqual(body, { error: "name is missing, path is missing" });
  });

  test("a path is taken by groups, projects and users in any case", async () => {
    const top = await makeGroup(app, owner);
    const sub = await makeGroup(app, owner, { parent_id: top.id });
    const project = await makeProject(app, top.id);
    const taken = { message: { path: ["has already been taken"] } };
    for (const [path, parent_id] of [
      [top.path.toUpperCase(), undefined],
      [owner.username, undefined],
      [sub.path.toUpperCase(), top.id],
      [project.path, top.id],
    ] as const) {
      const { status, body } = await create({ name: "n", path, ...(parent_id && { parent_id }) });
      assert.deepEqual([status, body], [400, taken], path);
    }
    assert.deepEqual((await change(sub.id, { path: project.path })).body, taken);
    assert.equal((await create({ name: "n", path: sub.path })).status, 201, "elsewhere it is free");
    const user = { username: top.path, name: "n", email: `${top.path}@example.com`, force_random_password: true };
    const clash = await app.post("/users", { token: admin.token, payload: user });
    assert.deepEqual([clash.status, clash.body], [409, { message: "Username has already been taken" }]);
    const renamed = await app.put(`/users/${stranger.id}`, { token: admin.token, payload: { username: top.path } });
    assert.deepEqual([renamed.status, renamed.body], [409, { message: "Username has already been taken" }]);
  });

  test("creating groups at the top level and in a group requires its rights", async () => {
    const path = () => ({ name: "n", path: word() });
    const plain = await app.makeUser({ can_create_group: false });
    const external = await app.makeUser({ external: true, can_create_group: true });
    assert.equal((await create(path(), plain.token)).status, 403);
    assert.equal((await create(path(), external.token)).status, 403);
    assert.equal((await create(path(), admin.token)).status, 201);
    assert.equal((await app.post("/groups", { payload: path() })).status, 401);

    const parent = await makeGroup(app, owner, { visibility: "internal" });
    const developer = await app.makeUser();
    await join(app, parent.id, developer, 30);
    await join(app, parent.id, plain, 40);
    const below = { parent_id: parent.id };
    assert.equal((await create({ ...path(), ...below }, developer.token)).status, 403);
    assert.equal((await create({ ...path(), ...below }, stranger.token)).status, 403);
    const hidden = await create({ ...path(), ...below }, external.token);
    assert.deepEqual([hidden.status, hidden.body], [404, { message: "404 Group Not Found" }]);
    assert.deepEqual((await create({ ...path(), parent_id: 4_503_599_627_370_495 })).body, hidden.body);
    const made = await create({ ...path(), ...below }, plain.token);
    assert.equal(made.status, 201, "a Maintainer may");
    await change(parent.id, { subgroup_creation_level: "owner" });
    assert.equal((await create({ ...path(), ...below }, plain.token)).status, 403, "unless the Owner said no");
    assert.equal((await create({ ...path(), ...below })).status, 201);
    assert.equal((await change(made.body.id, { name: "own" }, plain.token)).status, 200, "the maker owns it");
  });

  test("nothing is created in or below a group that is archived or marked for deletion", async () => {
    const top = await makeGroup(app, owner);
    const sub = await makeGroup(app, owner, { parent_id: top.id });
    const below = () => create({ name: "n", path: word(), parent_id: sub.id });
    await app.post(`/groups/${top.id}/archive`, { token: owner.token });
    assert.deepEqual((await below()).body, { message: "403 Forbidden - The group is archived" });
    await app.post(`/groups/${top.id}/unarchive`, { token: owner.token });
    await app.delete(`/groups/${top.id}`, { token: owner.token });
    assert.deepEqual((await below()).body, { message: "403 Forbidden - The group is marked for deletion" });
    await app.post(`/groups/${top.id}/restore`, { token: owner.token });
    assert.equal((await below()).status, 201);
  });

  test("the content of a group is at most as visible as the group", async () => {
    const top = await makeGroup(app, owner, { visibility: "internal" });
    const refused = await create({ name: "n", path: word(), parent_id: top.id, visibility: "public" });
    assert.equal(refused.status, 400);
    assert.deepEqual(refused.body.message, {
      visibility_level: [
        "public is not allowed since the parent group has internal visibility. " +
          "Choose internal or private, or change the parent group first.",
      ],
    });
    const sub = await makeGroup(app, owner, { parent_id: top.id, visibility: "internal" });
    assert.equal((await change(sub.id, { visibility: "public" })).status, 400);
    const lowered = await change(top.id, { visibility: "private" });
    assert.deepEqual(
      [lowered.status, lowered.body.message.visibility_level[0]],
      [400, "private is not allowed since this group contains subgroups with higher visibility. Change those first."],
    );
    assert.equal((await change(sub.id, { visibility: "private" })).status, 200);
    const project = await makeProject(app, top.id, { visibility: 10 });
    assert.match((await change(top.id, { visibility: "private" })).text, /contains projects with higher visibility/);
    await app.services.db.write.updateTable("projects").set({ visibility: 0 }).where("id", "=", project.id).execute();
    assert.equal((await change(top.id, { visibility: "private" })).status, 200);
  });

  test("hiding a group and adding something visible to it concurrently never both succeed", async () => {
    for (let round = 0; round < 8; round++) {
      const top = await makeGroup(app, owner, { visibility: "public" });
      const [hidden, made] = await Promise.all([
        change(top.id, { visibility: "private" }),
        create({ name: "n", path: word(), parent_id: top.id, visibility: "public" }),
      ]);
      assert.deepEqual(
        [hidden.status, made.status].toSorted((a, b) => a - b),
        hidden.status === 200 ? [200, 400] : [201, 400],
      );
    }
  });

  test("a restricted visibility is only for administrators", async () => {
    const strict = await testApp({ databaseUrl: await freshDatabase() });
    try {
      await strict.services.db.write
        .updateTable("settings")
        .set({ restricted_visibility_levels: [20] })
        .execute();
      const user = await strict.makeUser();
      const administrator = await strict.makeUser({ admin: true });
      const payload = { name: "n", path: word(), visibility: "public" };
      const refused = await strict.post("/groups", { token: user.token, payload });
      assert.deepEqual(refused.body, {
        message: { visibility_level: ["public has been restricted by your administrator"] },
      });
      assert.equal((await strict.post("/groups", { token: administrator.token, payload })).status, 201);
    } finally {
      await strict.close();
    }
  });

  test("groups nest at most twenty levels deep", async () => {
    let { id } = await makeGroup(app, owner);
    for (let level = 2; level <= 20; level++) ({ id } = await makeGroup(app, owner, { parent_id: id }));
    const { body } = await app.get(`/groups/${id}`, { token: owner.token });
    assert.equal(body.full_path.split("/").length, 20);
    const byPath = await app.get(`/groups/${encodeURIComponent(body.full_path)}`, { token: owner.token });
    assert.equal(byPath.body.id, id);
    const refused = await create({ name: "n", path: word(), parent_id: id });
    assert.deepEqual(
      [refused.status, refused.body],
      [400, { message: { parent_id: ["is nested too deeply: there can be 20 levels of groups"] } }],
    );
  });

  test("archiving a group shows everything in it as archived", async () => {
    const top = await makeGroup(app, owner);
    const sub = await makeGroup(app, owner, { parent_id: top.id });
    const put = shaped(await app.post(`/groups/${top.id}/archive`, { token: owner.token }), 201, GroupDetail);
    assert.equal(put.archived, true);
    assert.equal((await app.get(`/groups/${sub.id}`, { token: owner.token })).body.archived, true);
    const back = shaped(await app.post(`/groups/${top.id}/unarchive`, { token: owner.token }), 201, GroupDetail);
    assert.equal(back.archived, false);
    assert.equal((await app.get(`/groups/${sub.id}`, { token: owner.token })).body.archived, false);
  });

  test("a renamed group and everything in it redirect from the previous path", async () => {
    const top = await makeGroup(app, owner);
    const sub = await makeGroup(app, owner, { parent_id: top.id });
    const renamed = word("renamed");
    assert.equal((await change(top.id, { path: renamed })).body.full_path, renamed);
    const old = encodeURIComponent(sub.full_path);
    const read = await app.get(`/groups/${old}?with_projects=false&private_token=${owner.token}&search=a%2Cb`);
    assert.equal(read.status, 301);
    assert.equal(read.headers["location"], `http://localhost/api/v4/groups/${sub.id}?with_projects=false&search=a%2Cb`);
    const written = await app.put(`/groups/${old}`, { token: owner.token, payload: { name: "x" } });
    assert.deepEqual([written.status, written.headers["location"]], [308, `http://localhost/api/v4/groups/${sub.id}`]);
    const listed = await app.get(`/groups/${top.path}/subgroups?per_page=1`, { token: owner.token });
    assert.equal(listed.headers["location"], `http://localhost/api/v4/groups/${top.id}/subgroups?per_page=1`);
    assert.equal((await app.get(`/groups/${old}`, { token: stranger.token })).status, 404, "only for who may see it");

    const newcomer = await makeGroup(app, owner, { path: top.path });
    assert.equal((await app.get(`/groups/${top.path}`, { token: owner.token })).body.id, newcomer.id, "what is wins");
  });
});
