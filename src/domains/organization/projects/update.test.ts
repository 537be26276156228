import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { VISIBILITIES } from "#access/roles.ts";
import { type RowInserter, rowInserter } from "#domains/organization/members/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

describe("changing a project", () => {
  let app: TestApp;
  let insert: RowInserter;
  let owner: TestUser;
  let maintainer: TestUser;
  let developer: TestUser;
  let group: number;
  let groupPath: string;
  before(async () => {
    app = await testApp();
    insert = rowInserter(app);
    [owner, maintainer, developer] = await Promise.all([app.makeUser(), app.makeUser(), app.makeUser()]);
    group = await insert.group(undefined, { visibility: VISIBILITIES.internal });
    groupPath = (await app.get(`/groups/${group}`, { token: owner.token })).body.full_path;
    await insert.member(owner, { group_id: group }, "owner");
    await insert.member(maintainer, { group_id: group }, "maintainer");
    await insert.member(developer, { group_id: group }, "developer");
  });
  after(() => app.close());

  const change = (id: number, token: string, payload: object) => app.put(`/projects/${id}`, { token, payload });
  const look = async (id: number) => (await app.get(`/projects/${id}`, { token: owner.token })).body;

  test("is for Maintainers, its path and visibility for Owners", async () => {
    const id = await insert.project(group);
    assert.equal((await change(id, developer.token, { description: "no" })).status, 403);
    const { status, body } = await change(id, maintainer.token, {
      name: "Another name",
      description: "yes",
      default_branch: "trunk",
      topics: "x,y",
      squash_option: "always",
      builds_access_level: "private",
      snippets_enabled: false,
    });
    assert.equal(status, 200);
    const { name, description, default_branch, topics, squash_option, jobs_enabled, snippets_access_level } = body;
    assert.deepEqual(
      { name, description, default_branch, topics, squash_option, jobs_enabled, snippets_access_level },
      {
        name: "Another name",
        description: "yes",
        default_branch: "trunk",
        topics: ["x", "y"],
        squash_option: "always",
        jobs_enabled: false,
        snippets_access_level: "disabled",
      },
    );
    for (const payload of [
      { visibility: "internal" },
      { path: "elsewhere" },
      { description: "both", path: "elsewhere" },
    ]) {
      assert.equal((await change(id, maintainer.token, payload)).status, 403);
    }
    assert.deepEqual(await look(id), { ...body, permissions: (await look(id)).permissions }, "nothing was changed");
    // Clients send back what they read.
    assert.equal((await change(id, maintainer.token, { path: body.path, visibility: body.visibility })).status, 200);
    assert.equal((await change(id, owner.token, { visibility: "internal", path: `moved-${id}` })).status, 200);
  });

  test("keeps fields that are not sent, and prefers the current name over the deprecated one", async () => {
    const id = await insert.project(group, { preferences: { merge_method: "ff" }, wiki_access_level: "private" });
    await change(id, owner.token, { lfs_enabled: false, issues_enabled: true, issues_access_level: "private" });
    const { merge_method, wiki_access_level, lfs_enabled, issues_access_level } = await look(id);
    assert.deepEqual(
      [merge_method, wiki_access_level, lfs_enabled, issues_access_level],
      ["ff", "private", false, "private"],
    );
    const before = await look(id);
    const { status, body } = await change(id, owner.token, {});
    assert.equal(status, 200);
    assert.deepEqual(body, before, "nothing to change changes nothing, not even the time");
  });

  test("templates are shown with the project itself, and not in lists", async () => {
    const id = await insert.project(group);
    const text = "What happened?";
    const { body } = await change(id, owner.token, { issues_template: text, squash_option: "always" });
    assert.deepEqual([body.issues_template, body.merge_requests_template], [text, null]);
    assert.equal((await look(id)).issues_template, text);
    const inList = { id, squash_option: "always", templates: [] };
    const listed = ["/projects", `/groups/${group}/projects`, `/groups/${group}`].map(async (path) => {
      const list = (await app.get(path, { token: owner.token })).body;
      const found = (list.projects ?? list).find((project: { id: number }) => project.id === id);
      const templates = ["issues_template", "merge_requests_template"].filter((name) => name in found);
      return { id: found.id, squash_option: found.squash_option, templates };
    });
    assert.deepEqual(await Promise.all(listed), [inList, inList, inList]);
  });

  test("an empty description and null mean no description", async () => {
    const id = await insert.project(group, { description: "something" });
    assert.equal((await change(id, owner.token, { description: "" })).body.description, null);
    await change(id, owner.token, { description: "again" });
    assert.equal((await change(id, owner.token, { description: null })).body.description, null);
  });

  test("respects the visibility of the group and the restrictions of the instance", async () => {
    const id = await insert.project(group);
    const { status, body } = await change(id, owner.token, { visibility: "public" });
    assert.equal(status, 400);
    assert.deepEqual(Object.keys(body.message), ["visibility_level"]);
    assert.equal((await change(id, owner.token, { visibility: "internal" })).body.visibility, "internal");
    assert.equal((await change(id, owner.token, { visibility: "private" })).body.visibility, "private");
  });

  test("is possible while it is archived", async () => {
    const id = await insert.project(group, { archived: true });
    assert.equal((await change(id, maintainer.token, { description: "old but right" })).status, 200);
  });

  test("the previous path redirects, for all methods and in any case", async () => {
    const id = await insert.project(group, { path: "before", name: "Before" });
    assert.equal((await change(id, owner.token, { path: "after" })).status, 200);
    const old = `/projects/${encodeURIComponent(`${groupPath}/BEFORE`)}`;
    const read = await app.get(`${old}?simple=true`, { token: owner.token });
    assert.equal(read.status, 301);
    assert.equal(read.headers["location"], `http://localhost/api/v4/projects/${id}?simple=true`);
    const written = await app.put(old, { token: owner.token, payload: { description: "lost?" } });
    assert.equal(written.status, 308);
    assert.equal(written.headers["location"], `http://localhost/api/v4/projects/${id}`);
    const { body } = await app.get(`/projects/${encodeURIComponent(`${groupPath}/After`)}`, { token: owner.token });
    assert.equal(body.id, id);
    const stranger = await app.makeUser();
    assert.equal((await app.get(old, { token: stranger.token })).status, 404, "only for who may see it");
    // What takes the old path now wins over what had it.
    const next = await insert.project(group, { path: "before", name: "Next" });
    assert.equal((await app.get(old, { token: owner.token })).body.id, next);
    // And back again.
    assert.equal((await change(id, owner.token, { path: "before" })).status, 400);
    assert.equal((await change(next, owner.token, { path: "next" })).status, 200);
    assert.equal((await change(id, owner.token, { path: "before" })).status, 200);
    assert.equal((await app.get(old, { token: owner.token })).body.id, id);
  });

  test("only the case of a path may change", async () => {
    const id = await insert.project(group, { path: "case", name: "Case" });
    const { status, body } = await change(id, owner.token, { path: "CASE" });
    assert.equal(status, 200);
    assert.equal(body.path, "CASE");
    assert.equal(
      (await app.get(`/projects/${encodeURIComponent(`${groupPath}/case`)}`, { token: owner.token })).status,
      200,
    );
  });

  test("refuses what cannot be", async () => {
    const id = await insert.project(group);
    for (const [payload, field] of [
      [{ name: "/" }, "name"],
      [{ path: "wikis" }, "path"],
      [{ default_branch: "~" }, "default_branch"],
    ] as const) {
      const { status, body } = await change(id, owner.token, payload);
      assert.equal(status, 400);
      assert.deepEqual(Object.keys(body.message), [field]);
    }
    for (const payload of [
      { merge_method: "magic" },
      { wiki_access_level: "public" },
      { build_timeout: 1 },
      { name: "" },
    ]) {
      assert.equal((await change(id, owner.token, payload)).status, 400, JSON.stringify(payload));
    }
  });

  test("is in the audit log of the project, with the changed fields", async () => {
    const id = await insert.project(group);
    await change(id, owner.token, { name: "Logged", lfs_enabled: false });
    const { rows } = await sql<{ event: string; details: unknown; target_name: string }>`
      select event, details, target_name from audit_events where entity_type = 'Project' and entity_id = ${id}`.execute(
      app.services.db.write,
    );
    const { body } = await app.get(`/projects/${id}`, { token: owner.token });
    assert.deepEqual(rows, [
      {
        event: "project_updated",
        details: { changed: ["preferences", "name"] },
        target_name: body.path_with_namespace,
      },
    ]);
  });
});
