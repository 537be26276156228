import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";
import { fingerprintOf, keysOn, type KeyProject } from "./test-support.ts";

const NOWHERE = 4503599627370495;

describe("the deploy keys of a project", () => {
  let app: TestApp;
  let on: ReturnType<typeof keysOn>;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    on = keysOn(app);
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const get = (path: string, { token }: TestUser) => app.get(path, { token });
  const put = ({ keys, maintainer }: KeyProject, id: number, payload: object, { token } = maintainer) =>
    app.put(`${keys}/${id}`, { token, payload });
  const listed = async (project: KeyProject) => (await get(project.keys, project.maintainer)).body;

  test("only Maintainers may use them: other members are refused, strangers do not find the project", async () => {
    const project = await on.keyProject();
    const key = await on.added(project);
    const payload = { title: "x", key: newSshKey(), can_push: true };
    const one = `${project.keys}/${key.id}`;
    const calls = (token: string | undefined) => [
      app.get(project.keys, { token }),
      app.get(one, { token }),
      app.post(project.keys, { token, payload }),
      app.put(one, { token, payload }),
      app.post(`${one}/enable`, { token }),
      app.post(`${one}/disable`, { token }),
      app.delete(one, { token }),
    ];
    const statuses = async (token: string | undefined) =>
      new Set((await Promise.all(calls(token))).map(({ status }) => status));
    for (const role of ["guest", "planner", "reporter", "developer"] as const) {
      const member = await app.makeUser();
      await on.member(member, { project_id: project.id }, role);
      assert.deepEqual(await statuses(member.token), new Set([403]), role);
    }
    assert.deepEqual(await statuses((await app.makeUser()).token), new Set([404]));
    assert.deepEqual(await statuses(undefined), new Set([401]));
    const owner = await app.makeUser();
    await on.member(owner, { project_id: project.id }, "owner");
    for (const user of [owner, admin]) assert.equal((await get(project.keys, user)).status, 200);
    assert.deepEqual(await listed(project), [key]);
  });

  test("a new key is returned in full, as in the list and by id", async () => {
    const project = await on.keyProject();
    const line = newSshKey("crane");
    const made = await on.post(project, { title: "Crane", key: `${line}\n`, can_push: true });
    assert.equal(made.status, 201);
    assert.deepEqual(Object.keys(made.body), [
      ...["id", "title", "created_at", "expires_at", "last_used_at", "key", "usage_type"],
      ...["fingerprint", "fingerprint_sha256", "can_push", "creator_active"],
    ]);
    assert.deepEqual(
      [made.body.title, made.body.key, made.body.can_push, made.body.fingerprint_sha256, made.body.usage_type],
      ["Crane", line, true, fingerprintOf(line), "auth_and_signing"],
    );
    assert.deepEqual(await listed(project), [made.body]);
    const one = await get(`${project.keys}/${made.body.id}`, project.maintainer);
    assert.deepEqual([one.status, one.body], [200, made.body]);
    assert.equal((await on.added(project)).can_push, false);
  });

  test("problems are reported with the prefix deploy_key", async () => {
    const project = await on.keyProject();
    const refusal = async (payload: object) => {
      const { status, body } = await on.post(project, { title: "Ship", key: newSshKey(), ...payload });
      assert.equal(status, 400);
      return body;
    };
    assert.deepEqual(await refusal({ title: " " }), { message: { "deploy_key.title": ["can't be blank"] } });
    assert.deepEqual(await refusal({ expires_at: "2020-01-01T00:00:00Z" }), {
      message: { "deploy_key.key": ["has expired"] },
    });
    assert.deepEqual(await refusal({ key: "no key" }), {
      message: {
        "deploy_key.key": ["type is forbidden. Must be RSA, ECDSA, ED25519, ECDSA_SK, or ED25519_SK", "is invalid"],
        "deploy_key.fingerprint_sha256": ["cannot be generated"],
      },
    });
    assert.deepEqual((await on.post(project, { can_push: true })).body, { error: "key is missing, title is missing" });
    assert.equal((await on.post(project, { title: "x", key: newSshKey(), can_push: "perhaps" })).status, 400);
    assert.deepEqual(await listed(project), []);
  });

  test("callers cannot set other columns", async () => {
    const project = await on.keyProject();
    const forged = {
      ...{ public: true, kind: "user", user_id: admin.id, usage_type: "signing", fingerprint_sha256: "SHA256:x" },
      ...{ id: 1, project_id: 1, key_id: 1, last_used_at: "2020-01-01T00:00:00Z", created_at: "2020-01-01T00:00:00Z" },
    };
    const key = await on.added(project, forged);
    assert.deepEqual(
      [key.usage_type, key.last_used_at, key.fingerprint_sha256],
      [...["auth_and_signing", null, fingerprintOf(key.key)]],
    );
    await put(project, key.id, { title: "Same", ...forged, key: newSshKey(), expires_at: "2040-01-01T00:00:00Z" });
    const { rows } = await sql`select user_id, kind, public, key, expires_at from keys where id = ${key.id}`.execute(
      app.services.db.write,
    );
    assert.deepEqual(rows, [
      { user_id: project.maintainer.id, kind: "deploy", public: false, key: key.key, expires_at: null },
    ]);
  });

  test("the list is in the order of enabling, and paged", async () => {
    const [project, other] = [await on.keyProject(), await on.keyProject()];
    const late = await on.added(other);
    const own = [await on.added(project), await on.added(project)];
    await app.post(`${project.keys}/${late.id}/enable`, { token: admin.token });
    const ids = [...own, late].map(({ id }) => id);
    assert.deepEqual(
      (await listed(project)).map(({ id }: { id: number }) => id),
      ids,
    );
    const { body, headers } = await get(`${project.keys}?per_page=2&page=2`, project.maintainer);
    assert.deepEqual([body.length, body[0].id, headers["x-total"]], [1, late.id, "3"]);
  });

  test("a key that the project did not enable is not found", async () => {
    const [project, other] = [await on.keyProject(), await on.keyProject()];
    const key = await on.added(other);
    const { body: own } = await app.post("/user/keys", {
      token: project.maintainer.token,
      payload: { title: "Own", key: newSshKey() },
    });
    for (const id of [key.id, own.id, NOWHERE]) {
      const one = await get(`${project.keys}/${id}`, project.maintainer);
      assert.deepEqual([one.status, one.body], [404, { message: "404 Not found" }]);
      const changed = await put(project, id, { can_push: true });
      assert.deepEqual([changed.status, changed.body], [404, { message: "404 Not found" }]);
      for (const gone of [
        await app.delete(`${project.keys}/${id}`, { token: project.maintainer.token }),
        await app.post(`${project.keys}/${id}/disable`, { token: project.maintainer.token }),
        await app.post(`${project.keys}/${id}/enable`, { token: project.maintainer.token }),
      ]) {
        assert.deepEqual([gone.status, gone.body], [404, { message: "404 Deploy key Not Found" }]);
      }
    }
    assert.equal((await listed(other))[0].can_push, false);
  });

  test("an update needs at least one field", async () => {
    const project = await on.keyProject();
    const key = await on.added(project);
    const { status, body } = await put(project, key.id, {});
    const error = "title, can_push are missing, at least one parameter must be provided";
    assert.deepEqual([status, body], [400, { error }]);
    for (const payload of [{ title: " ", can_push: true }, { title: "" }, { title: " " }]) {
      const blank = await put(project, key.id, payload);
      assert.deepEqual([blank.status, blank.body], [400, { message: { "deploy_key.title": ["can't be blank"] } }]);
    }
    assert.deepEqual(await listed(project), [key], "and nothing of it happens");
    const changed = await put(project, key.id, { title: " Crane ", can_push: true });
    assert.deepEqual([changed.status, changed.body], [200, { ...key, title: "Crane", can_push: true }]);
    assert.equal((await put(project, key.id, { can_push: false })).body.can_push, false);
  });

  test("can_push belongs to each project; the title of a shared key is ignored from Maintainers", async () => {
    const project = await on.keyProject();
    const other = await on.keyProject(project.maintainer);
    const key = await on.added(project);
    await app.post(`${other.keys}/${key.id}/enable`, { token: project.maintainer.token });
    const changed = await put(project, key.id, { title: "Mine", can_push: true });
    assert.deepEqual([changed.status, changed.body.title, changed.body.can_push], [200, key.title, true]);
    assert.equal(changed.headers["x-ignored-parameters"], "title");
    const same = await put(project, key.id, { title: key.title, can_push: true });
    assert.equal(same.headers["x-ignored-parameters"], undefined, "it is the title already");
    const [there] = await listed(other);
    assert.deepEqual([there.title, there.can_push], [key.title, false]);
    assert.equal((await put(project, key.id, { title: "Ours" }, admin)).body.title, "Ours");
    await app.delete(`${other.keys}/${key.id}`, { token: project.maintainer.token });
    assert.equal((await put(project, key.id, { title: "Mine" })).body.title, "Mine");
  });

  test("only administrators change the title of a public key", async () => {
    const project = await on.keyProject();
    const payload = { title: "Public", key: newSshKey() };
    const { body: key } = await app.post("/deploy_keys", { token: admin.token, payload });
    await app.post(`${project.keys}/${key.id}/enable`, { token: project.maintainer.token });
    const changed = await put(project, key.id, { title: "Mine", can_push: true });
    assert.deepEqual([changed.status, changed.body.title, changed.body.can_push], [200, "Public", true]);
    assert.equal(changed.headers["x-ignored-parameters"], "title");
    assert.equal((await put(project, key.id, { title: "New" }, admin)).body.title, "New");
  });

  test("a key whose creator is blocked or deleted is marked and keeps working", async () => {
    const project = await on.keyProject();
    const creator = await app.makeUser();
    await on.member(creator, { project_id: project.id }, "maintainer");
    const { body: key } = await on.post(project, { title: "Left", key: newSshKey() }, creator);
    assert.equal(key.creator_active, true);
    const marks = async () => (await listed(project)).map((row: any) => row.creator_active);
    await app.post(`/users/${creator.id}/block`, { token: admin.token });
    assert.deepEqual(await marks(), [false]);
    await app.post(`/users/${creator.id}/unblock`, { token: admin.token });
    assert.deepEqual(await marks(), [true]);
    await app.delete(`/users/${creator.id}`, { token: admin.token });
    assert.deepEqual(await marks(), [false]);
    const { rows } = await sql<{ details: unknown }>`
      select details from audit_events where event = 'user_blocked' and target_id = ${creator.id}`.execute(
      app.services.db.write,
    );
    assert.deepEqual(rows, [{ details: { from: "active", deploy_keys: [key.id] } }]);
  });

  test("every change is audited for the project", async () => {
    const project = await on.keyProject();
    const key = await on.added(project, { can_push: true });
    await put(project, key.id, { can_push: false });
    await app.post(`${project.keys}/${key.id}/enable`, { token: project.maintainer.token });
    await app.delete(`${project.keys}/${key.id}`, { token: project.maintainer.token });
    const { rows } = await sql`
      select event, actor_id, target_type, target_id, target_name, details from audit_events
      where entity_type = 'Project' and entity_id = ${project.id} order by id`.execute(app.services.db.write);
    const target = {
      actor_id: project.maintainer.id,
      target_type: "DeployKey",
      target_id: key.id,
      target_name: "Ship",
    };
    const details = (can_push: boolean) => ({ fingerprint: key.fingerprint_sha256, can_push });
    assert.deepEqual(rows, [
      { event: "deploy_key_added", ...target, details: details(true) },
      { event: "deploy_key_updated", ...target, details: details(false) },
      { event: "deploy_key_enabled", ...target, details: details(false) },
      { event: "deploy_key_removed", ...target, details: details(false) },
    ]);
  });

  test("keys of an archived project can be removed", async () => {
    const project = await on.keyProject();
    const key = await on.added(project);
    await sql`update projects set archived = true where id = ${project.id}`.execute(app.services.db.write);
    assert.deepEqual(await listed(project), [key]);
    assert.equal((await app.delete(`${project.keys}/${key.id}`, { token: project.maintainer.token })).status, 204);
  });
});
