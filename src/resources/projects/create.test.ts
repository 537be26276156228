import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { VISIBILITIES } from "#access/roles.ts";
import { type Ground, ground } from "#resources/members/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

describe("creating a project", () => {
  let app: TestApp;
  let on: Ground;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    on = ground(app);
    [admin, user] = await Promise.all([app.makeUser({ admin: true }), app.makeUser()]);
  });
  after(() => app.close());

  let number = 0;
  const newName = () => `Project ${++number}`;
  const create = (token: string | undefined, payload: object) => app.post("/projects", { token, payload });

  test("in one's own place needs a name only, and makes one its Owner", async () => {
    const { status, body } = await create(user.token, { name: "Été à Paris! 2" });
    assert.equal(status, 400, "a name with ! is refused");
    assert.match(body.message.name[0], /^can contain only letters/);

    const made = await create(user.token, { name: "Été à Paris 2" });
    assert.equal(made.status, 201, made.text);
    const project = made.body;
    assert.equal(project.path, "ete-a-paris-2");
    assert.equal(project.path_with_namespace, `${user.username}/ete-a-paris-2`);
    assert.equal(project.name_with_namespace, `${user.username} / Été à Paris 2`);
    assert.equal(project.visibility, "private");
    assert.equal(project.default_branch, "main");
    assert.equal(project.creator_id, user.id);
    assert.equal(project.owner.id, user.id);
    assert.equal(project.namespace.kind, "user");
    assert.equal(project.http_url_to_repo, `http://localhost/${user.username}/ete-a-paris-2.git`);
    assert.equal(project.ssh_url_to_repo, `ssh://git@localhost:2222/${user.username}/ete-a-paris-2.git`);
    assert.deepEqual(project.permissions, {
      project_access: { access_level: 50, notification_level: 3 },
      group_access: null,
    });
    assert.equal("repository_storage" in project, false);
    assert.deepEqual((await app.get(`/projects/${project.id}`, { token: user.token })).body, project);
  });

  test("takes a path for a name, and wants one of the two", async () => {
    const { body } = await create(user.token, { path: "Only_a.path" });
    assert.equal(body.name, "Only_a.path");
    assert.equal(body.path, "Only_a.path");
    const { status, body: refused } = await create(user.token, {});
    assert.equal(status, 400);
    assert.deepEqual(refused, { error: "name, path are missing, at least one parameter must be provided" });
    assert.equal((await create(undefined, { name: "x" })).status, 401);
  });

  test("keeps what is chosen with it", async () => {
    const { status, body, text } = await create(user.token, {
      name: newName(),
      description: "What it is",
      visibility: "public",
      default_branch: "trunk",
      topics: ["one", " two ", "ONE"],
      issues_enabled: false,
      wiki_access_level: "private",
      merge_method: "ff",
      lfs_enabled: false,
      ci_config_path: ".ci/main.yml",
    });
    assert.equal(status, 201, text);
    assert.equal(body.description, "What it is");
    assert.equal(body.visibility, "public");
    assert.equal(body.default_branch, "trunk");
    assert.deepEqual(body.topics, ["one", "two"]);
    assert.deepEqual(body.tag_list, body.topics);
    assert.equal(body.issues_access_level, "disabled");
    assert.equal(body.issues_enabled, false);
    assert.equal("issues" in body["_links"], false);
    assert.equal(body.wiki_access_level, "private");
    assert.equal(body.wiki_enabled, true);
    assert.equal(body.merge_method, "ff");
    assert.equal(body.lfs_enabled, false);
    assert.equal(body.ci_config_path, ".ci/main.yml");
  });

  test("takes topics by their old name and as one text", async () => {
    assert.deepEqual((await create(user.token, { name: newName(), tag_list: "a, b,,c" })).body.topics, ["a", "b", "c"]);
  });

  test("refuses names, paths and branches that cannot be", async () => {
    for (const [payload, field] of [
      [{ name: "-dash" }, "name"],
      [{ name: "x", path: "-dash" }, "path"],
      [{ name: "x", path: "a b" }, "path"],
      [{ name: "x", path: "thing.git" }, "path"],
      [{ name: "x", path: "tree" }, "path"],
      [{ name: "日本" }, "path"],
      [{ name: "x", default_branch: "a..b" }, "default_branch"],
    ] as const) {
      const { status, body } = await create(user.token, payload);
      assert.equal(status, 400, JSON.stringify(payload));
      assert.deepEqual(Object.keys(body.message), [field], JSON.stringify(payload));
    }
    assert.equal((await create(user.token, { name: "x", visibility: "secret" })).status, 400);
    assert.equal((await create(user.token, { name: "x".repeat(256) })).status, 400);
  });

  test("refuses a path that is taken there, in any case, and by a group too", async () => {
    const group = await on.group();
    await on.member(user, { group_id: group }, "owner");
    await on.group(group, { path: "sub", name: "Sub" });
    const taken = { message: { name: ["has already been taken"], path: ["has already been taken"] } };
    const payload = { name: "Twice", path: "twice", namespace_id: group };
    assert.equal((await create(user.token, payload)).status, 201);
    for (const path of ["twice", "TWICE", "sub"]) {
      const { status, body } = await create(user.token, { ...payload, path });
      assert.equal(status, 400);
      assert.deepEqual(body, taken);
    }
    assert.equal(
      (await create(user.token, { ...payload, namespace_id: undefined })).status,
      201,
      "elsewhere it is free",
    );
  });

  test("asked for twice at once makes one", async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => create(user.token, { name: "At once", path: "at-once" })),
    );
    assert.deepEqual(answers.map(({ status }) => String(status)).toSorted(), [
      "201",
      "400",
      "400",
      "400",
      "400",
      "400",
    ]);
  });

  test("in a group needs what the group asks for", async () => {
    const place = await on.group(undefined, { visibility: VISIBILITIES.internal });
    const callers = new Map<string, TestUser>();
    for (const level of ["guest", "reporter", "developer", "maintainer", "owner"] as const) {
      const member = await app.makeUser();
      await on.member(member, { group_id: place }, level);
      callers.set(level, member);
    }
    callers.set("stranger", await app.makeUser());
    callers.set("administrator", admin);
    const may = {
      noone: ["administrator"],
      administrator: ["administrator"],
      owner: ["owner", "administrator"],
      maintainer: ["maintainer", "owner", "administrator"],
      developer: ["developer", "maintainer", "owner", "administrator"],
    };
    for (const [level, allowed] of Object.entries(may)) {
      await app.services.db.write
        .updateTable("namespaces")
        .set({ project_creation_level: level as keyof typeof may })
        .where("id", "=", place)
        .execute();
      for (const [name, { token }] of callers) {
        const { status, text } = await create(token, { name: newName(), namespace_id: place });
        assert.equal(status, allowed.includes(name) ? 201 : 403, `${level} ${name} ${text}`);
      }
    }
  });

  test("in a group makes nobody a member, and finds the group by its path", async () => {
    const top = await on.group();
    const sub = await on.group(top);
    await on.member(user, { group_id: top }, "maintainer");
    const { body: group } = await app.get(`/groups/${sub}`, { token: user.token });
    const { status, body } = await create(user.token, { name: newName(), namespace_id: group.full_path.toUpperCase() });
    assert.equal(status, 201);
    assert.equal(body.namespace.id, sub);
    assert.equal("owner" in body, false);
    assert.deepEqual(body.permissions, {
      project_access: null,
      group_access: { access_level: 40, notification_level: 3 },
    });
    const { rows } = await sql`select from members where project_id = ${body.id}`.execute(app.services.db.write);
    assert.equal(rows.length, 0);
  });

  test("elsewhere is refused as if it were not there", async () => {
    const hidden = await on.group(undefined, { visibility: VISIBILITIES.private });
    const other = await app.makeUser();
    const { body: own } = await app.get("/user", { token: admin.token });
    for (const namespace_id of [hidden, own.namespace_id, other.username, 999_999_999, "no/such"]) {
      const { status, body } = await create(user.token, { name: newName(), namespace_id });
      assert.equal(status, 404, String(namespace_id));
      assert.deepEqual(body, { message: "404 Namespace Not Found" });
    }
  });

  test("in what is archived or going to be removed is refused, below it too", async () => {
    for (const columns of [{ archived: true }, { marked_for_deletion_at: "2026-01-01T00:00:00.000Z" }]) {
      const top = await on.group(undefined, columns);
      const sub = await on.group(top);
      for (const namespace_id of [top, sub]) {
        assert.equal((await create(admin.token, { name: newName(), namespace_id })).status, 403);
      }
    }
  });

  test("is not more visible than the group around it", async () => {
    for (const around of ["private", "internal", "public"] as const) {
      const group = await on.group(undefined, { visibility: VISIBILITIES[around] });
      await on.member(user, { group_id: group }, "owner");
      for (const visibility of ["private", "internal", "public"] as const) {
        const { status, body } = await create(user.token, { name: newName(), namespace_id: group, visibility });
        const allowed = VISIBILITIES[visibility] <= VISIBILITIES[around];
        assert.equal(status, allowed ? 201 : 400, `${visibility} in ${around}`);
        if (!allowed) assert.deepEqual(Object.keys(body.message), ["visibility_level"]);
      }
    }
  });

  test("has no visibility that only administrators may give", async () => {
    const strict = await testApp({ databaseUrl: await freshDatabase() });
    try {
      const restricted = { restricted_visibility_levels: [VISIBILITIES.public], default_project_visibility: 10 };
      await strict.services.db.write.updateTable("settings").set(restricted).execute();
      const [boss, other] = await Promise.all([strict.makeUser({ admin: true }), strict.makeUser()]);
      const payload = { name: "Open", visibility: "public" };
      const { status, body } = await strict.post("/projects", { token: other.token, payload });
      assert.equal(status, 400);
      assert.deepEqual(Object.keys(body.message), ["visibility_level"]);
      assert.equal((await strict.post("/projects", { token: boss.token, payload })).status, 201);
      const unsaid = await strict.post("/projects", { token: other.token, payload: { name: "Default" } });
      assert.equal(unsaid.body.visibility, "internal");
      const hidden = await ground(strict).group(undefined, { visibility: VISIBILITIES.private });
      await ground(strict).member(other, { group_id: hidden }, "owner");
      const below = await strict.post("/projects", {
        token: other.token,
        payload: { name: "x", namespace_id: hidden },
      });
      assert.equal(below.body.visibility, "private", "the group's, where that is less");
    } finally {
      await strict.close();
    }
  });

  test("stops at the limit of the user, also at once, and not for administrators", async () => {
    const limited = await app.makeUser({ projects_limit: 3 });
    const answers = await Promise.all(Array.from({ length: 6 }, () => create(limited.token, { name: newName() })));
    assert.deepEqual(answers.map(({ status }) => String(status)).toSorted(), [
      "201",
      "201",
      "201",
      "403",
      "403",
      "403",
    ]);
    const group = await on.group();
    await on.member(limited, { group_id: group }, "developer");
    assert.equal((await create(limited.token, { name: newName(), namespace_id: group })).status, 201);
    assert.equal((await create(admin.token, { name: newName(), namespace_id: limited.username })).status, 201);
    const none = await app.makeUser({ projects_limit: 0 });
    assert.equal((await create(none.token, { name: newName() })).status, 403);
  });

  test("on another storage is for administrators, who are told of an unknown one", async () => {
    const asUser = await create(user.token, { name: newName(), repository_storage: "elsewhere" });
    assert.equal(asUser.status, 201, "others may say what they like");
    const asAdmin = await create(admin.token, { name: newName(), repository_storage: "elsewhere" });
    assert.equal(asAdmin.status, 400);
    const { status, body } = await create(admin.token, { name: newName(), repository_storage: "default" });
    assert.equal(status, 201);
    assert.equal(body.repository_storage, "default");
  });

  test("for another user is for administrators", async () => {
    const payload = { name: "Given" };
    assert.equal((await app.post(`/projects/user/${user.id}`, { token: user.token, payload })).status, 403);
    const { status, body } = await app.post(`/projects/user/${user.id}`, { token: admin.token, payload });
    assert.equal(status, 201);
    assert.equal(body.creator_id, user.id);
    assert.equal(body.owner.id, user.id);
    const { body: seen } = await app.get(`/projects/${body.id}`, { token: user.token });
    assert.equal(seen.permissions.project_access.access_level, 50);
    const missing = await app.post("/projects/user/999999999", { token: admin.token, payload });
    assert.equal(missing.status, 404);
    assert.deepEqual(missing.body, { message: "404 User Not Found" });
  });
});
