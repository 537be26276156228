import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { join, makeGroup, makeProject } from "#resources/groups/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";

const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

describe("what users choose for themselves", () => {
  let app: TestApp;
  let user: TestUser;
  before(async () => {
    app = await testApp();
    user = await app.makeUser();
  });
  after(() => app.close());

  test("preferences: one or more of three", async () => {
    const defaults = {
      ...{ id: user.id, user_id: user.id, view_diffs_file_by_file: false },
      ...{ show_whitespace_in_diffs: true, pass_user_identities_to_ci_jwt: false },
    };
    const get = async () => (await app.get("/user/preferences", { token: user.token })).body;
    const put = (payload: object) => app.put("/user/preferences", { token: user.token, payload });
    assert.deepEqual(await get(), defaults);
    const { status, body } = await put({ show_whitespace_in_diffs: false, view_diffs_file_by_file: true, admin: true });
    assert.equal(status, 200);
    const expected = { ...defaults, show_whitespace_in_diffs: false, view_diffs_file_by_file: true };
    assert.deepEqual(body, expected);
    assert.deepEqual(await get(), expected);
    assert.deepEqual((await put({})).body, {
      error:
        "view_diffs_file_by_file, show_whitespace_in_diffs, pass_user_identities_to_ci_jwt are missing, " +
        "at least one parameter must be provided",
    });
    assert.equal((await app.get("/user/preferences")).status, 401);
    assert.equal((await app.get("/user", { token: user.token })).body.is_admin, undefined);
  });

  test("avatar: an image, or none", async () => {
    const put = (form: FormData) => app.put("/user/avatar", { token: user.token, payload: form as never });
    const form = (bytes: Uint8Array<ArrayBuffer>) => {
      const given = new FormData();
      given.set("avatar", new Blob([bytes]), "me.gif");
      return given;
    };
    const { status, body } = await put(form(new Uint8Array(GIF)));
    assert.equal(status, 200);
    assert.deepEqual(body, { avatar_url: `http://localhost/uploads/-/system/user/avatar/${user.id}/avatar.gif` });
    const image = await app.app.inject({ url: new URL(body.avatar_url).pathname, headers: { host: "localhost" } });
    assert.deepEqual(image.rawPayload, GIF);
    const refused = await put(form(new TextEncoder().encode("no image")));
    assert.equal(refused.status, 400);
    assert.deepEqual(Object.keys(refused.body.message), ["avatar"]);
    const missing = await app.put("/user/avatar", { token: user.token, payload: {} });
    assert.deepEqual(missing.body, { error: "avatar is missing" });
    const gone = await app.put("/user/avatar", { token: user.token, payload: { avatar: null } });
    assert.match(gone.body.avatar_url, /default\.svg$/);
  });
});

describe("what users belong to", () => {
  let app: TestApp;
  let admin: TestUser;
  let user: TestUser;
  let group: { id: number; name: string };
  let project: { id: number; name: string };
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
    user = await app.makeUser();
    group = await makeGroup(app, admin);
    project = await makeProject(app, group.id);
    const over = await makeProject(app, group.id);
    await join(app, group.id, user, 30);
    await app.services.db.write
      .insertInto("members")
      .values([
        { project_id: project.id, user_id: user.id, access_level: 40, expires_at: null },
        { project_id: over.id, user_id: user.id, access_level: 40, expires_at: "2001-01-01" },
      ])
      .execute();
  });
  after(() => app.close());

  test("memberships that count, of both kinds or one; for administrators", async () => {
    const inGroup = { source_id: group.id, source_name: group.name, source_type: "Namespace", access_level: 30 };
    const inProject = { source_id: project.id, source_name: project.name, source_type: "Project", access_level: 40 };
    const list = async (query = "") =>
      (await app.get(`/users/${user.id}/memberships${query}`, { token: admin.token })).body;
    assert.deepEqual(await list(), [inGroup, inProject]);
    assert.deepEqual(await list("?type=Project"), [inProject]);
    assert.deepEqual(await list("?type=Namespace"), [inGroup]);
    assert.deepEqual(await list("?type=Other"), { error: "type does not have a valid value" });
    assert.equal((await app.get(`/users/${user.id}/memberships`, { token: user.token })).status, 403);
    assert.equal((await app.get("/users/999999999/memberships", { token: admin.token })).status, 404);
  });

  test("associations_count: for oneself and administrators", async () => {
    const expected = { groups_count: 1, projects_count: 1, issues_count: 0, merge_requests_count: 0 };
    for (const { token } of [user, admin]) {
      assert.deepEqual((await app.get(`/users/${user.id}/associations_count`, { token })).body, expected);
    }
    const other = await app.makeUser();
    assert.equal((await app.get(`/users/${user.id}/associations_count`, { token: other.token })).status, 403);
    assert.equal((await app.get("/users/999999999/associations_count", { token: admin.token })).status, 404);
    assert.equal((await app.get(`/users/${user.id}/associations_count`)).status, 401);
  });
});
