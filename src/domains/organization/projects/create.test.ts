import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { VISIBILITIES } from "#access/roles.ts";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";

describe("creating a project", () => {
  let app: TestApp;
  let insert: RowInserter;
  let admin: TestUser;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    insert = rowInserter(app);
    [admin, user] = await Promise.all([app.makeUser({ admin: true }), app.makeUser()]);
  });
  after(() => app.close());

  let number = 0;
  const newName = () => `Project ${++number}`;
  const create = (token: string | undefined, payload: object) => app.post("/projects", { token, payload });

  test("in a personal namespace needs only a name, and makes the user its Owner", async () => {
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

  test("requires a name or a path", async () => {
    const { body } = await create(user.token, { path: "Only_a.path" });
    assert.equal(body.name, "Only_a.path");
    assert.equal(body.path, "Only_a.path");
    const { status, body: refused } = await create(user.token, {});
    assert.equal(status, 400);
    assert.deepEqual(refused, { error: "name, path are missing, at least one parameter must be provided" });
    assert.equal((await create(undefined, { name: "x" })).status, 401);
  });

  test("stores the values that are sent", async () => {
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
    assert.equal(body.wiki_enabled, false, "there are no wikis yet");
    assert.equal(body.merge_method, "ff");
    assert.equal(body.lfs_enabled, false);
    assert.equal(body.ci_config_path, ".ci/main.yml");
  });

  test("shows nothing as switched on that this release does not have, and links to nothing that is not there", async () => {
    const { body } = await create(user.token, { name: newName(), lfs_enabled: true, merge_requests_enabled: true });
    const switches = Object.entries(body).filter(([name]) => name.endsWith("_enabled"));
    assert.deepEqual(
      switches.filter(([, value]) => value === true).map(([name]) => name),
      ["emails_enabled", "issues_enabled"],
    );
    assert.ok(switches.length > 12, String(switches.length));
    assert.equal(body.merge_requests_access_level, "enabled", "what is chosen is stored");
    for (const [name, url] of Object.entries<string>(body["_links"])) {
      const { status } = await app.get(new URL(url).pathname, { token: user.token });
      assert.equal(status, 200, name);
    }
  });

  test("accepts topics by their deprecated name and as one text", async () => {
    assert.deepEqual((await create(user.token, { name: newName(), tag_list: "a, b,,c" })).body.topics, ["a", "b", "c"]);
  });

  test("refuses invalid names, paths and branches", async () => {
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

  test("refuses a path that a project or group already has, in any case", async () => {
    const group = await insert.group();
    await insert.member(user, { group_id: group }, "owner");
    await insert.group(group, { path: "sub", name: "Sub" });
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

  test("twice at once with the same path creates one", async () => {
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

  test("in a group requires the level that the group sets", async () => {
    const place = await insert.group(undefined, { visibility: VISIBILITIES.internal });
    const callers = new Map<string, TestUser>();
    for (const level of ["guest", "reporter", "developer", "maintainer", "owner"] as const) {
      const member = await app.makeUser();
      await insert.member(member, { group_id: place }, level);
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

  test("in a group adds no member, and finds the group by its path", async () => {
    const top = await insert.group();
    const sub = await insert.group(top);
    await insert.member(user, { group_id: top }, "maintainer");
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

  test("in a hidden namespace is 404, as in a missing one", async () => {
    const hidden = await insert.group(undefined, { visibility: VISIBILITIES.private });
    const other = await app.makeUser();
    const { body: own } = await app.get("/user", { token: admin.token });
    for (const namespace_id of [hidden, own.namespace_id, other.username, 999_999_999, "no/such"]) {
      const { status, body } = await create(user.token, { name: newName(), namespace_id });
      assert.equal(status, 404, String(namespace_id));
      assert.deepEqual(body, { message: "404 Namespace Not Found" });
    }
  });

  test("in or below an archived group or one marked for deletion is refused", async () => {
    for (const columns of [{ archived: true }, { marked_for_deletion_at: "2026-01-01T00:00:00.000Z" }]) {
      const top = await insert.group(undefined, columns);
      const sub = await insert.group(top);
      for (const namespace_id of [top, sub]) {
        assert.equal((await create(admin.token, { name: newName(), namespace_id })).status, 403);
      }
    }
  });

  test("cannot be more visible than its group", async () => {
    for (const around of ["private", "internal", "public"] as const) {
      const group = await insert.group(undefined, { visibility: VISIBILITIES[around] });
      await insert.member(user, { group_id: group }, "owner");
      for (const visibility of ["private", "internal", "public"] as const) {
        const { status, body } = await create(user.token, { name: newName(), namespace_id: group, visibility });
        const allowed = VISIBILITIES[visibility] <= VISIBILITIES[around];
        assert.equal(status, allowed ? 201 : 400, `${visibility} in ${around}`);
        if (!allowed) assert.deepEqual(Object.keys(body.message), ["visibility_level"]);
      }
    }
  });

  test("cannot use a restricted visibility", async () => {
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
      const hidden = await rowInserter(strict).group(undefined, { visibility: VISIBILITIES.private });
      await rowInserter(strict).member(other, { group_id: hidden }, "owner");
      const below = await strict.post("/projects", {
        token: other.token,
        payload: { name: "x", namespace_id: hidden },
      });
      assert.equal(below.body.visibility, "private", "the group's, where that is less");
    } finally {
      await strict.close();
    }
  });

  test("respects the limit of the user, also concurrently, except for administrators", async () => {
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
    const group = await insert.group();
    await insert.member(limited, { group_id: group }, "developer");
    assert.equal((await create(limited.token, { name: newName(), namespace_id: group })).status, 201);
    assert.equal((await create(admin.token, { name: newName(), namespace_id: limited.username })).status, 201);
    const none = await app.makeUser({ projects_limit: 0 });
    assert.equal((await create(none.token, { name: newName() })).status, 403);
  });

  test("on another storage is for administrators, and an unknown one is refused", async () => {
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
