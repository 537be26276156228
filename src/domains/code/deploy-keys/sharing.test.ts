import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { elsewhere } from "#test/support/elsewhere.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";
import { keysOn, type KeyProject, TAKEN } from "./test-support.ts";

describe("a key in several projects", () => {
  let app: TestApp;
  let on: ReturnType<typeof keysOn>;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    on = keysOn(app);
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const taken = { message: { "deploy_key.fingerprint_sha256": TAKEN } };
  const enable = ({ keys, maintainer }: KeyProject, id: number, { token } = maintainer) =>
    app.post(`${keys}/${id}/enable`, { token });
  const remove = ({ keys, maintainer }: KeyProject, id: number) =>
    app.delete(`${keys}/${id}`, { token: maintainer.token });
  const exists = async (id: number) => {
    const { rows } = await sql`select from keys where id = ${id}`.execute(app.services.db.write);
    return rows.length === 1;
  };
  const publicKey = async (line = newSshKey()) => {
    const { body } = await app.post("/deploy_keys", { token: admin.token, payload: { title: "Public", key: line } });
    return body;
  };

  test("adding a key to the same project again does not change it", async () => {
    const project = await on.keyProject();
    const key = await on.added(project);
    for (const line of [key.key, `${key.key} another comment`]) {
      const again = await on.post(project, {
        title: " ",
        key: line,
        can_push: true,
        expires_at: "2020-01-01T00:00:00Z",
      });
      assert.deepEqual([again.status, again.body], [201, key]);
    }
    assert.deepEqual(await on.stored(key.key), { keys: 1, links: 1 });
  });

  test("adding a key to another project of its Maintainer enables it with the requested rights", async () => {
    const project = await on.keyProject();
    const other = await on.keyProject(project.maintainer);
    const key = await on.added(project, { expires_at: "2040-01-01T00:00:00Z" });
    const joined = await on.post(other, {
      title: "Other",
      key: `${key.key} x`,
      can_push: true,
      expires_at: "2041-01-01",
    });
    assert.deepEqual([joined.status, joined.body], [201, { ...key, can_push: true }]);
    assert.deepEqual(await on.stored(key.key), { keys: 1, links: 2 });
    assert.equal((await app.get(project.keys, { token: project.maintainer.token })).body[0].can_push, false);
  });

  test("a key of a project that the caller does not maintain cannot be enabled, and looks unknown", async () => {
    const project = await on.keyProject();
    const key = await on.added(project);
    const thief = await app.makeUser();
    const own = await on.keyProject(thief);
    const missing = await enable(own, 4503599627370495);
    const refused = async (role: string) => {
      const joined = await on.post(own, { title: "x", key: key.key });
      assert.deepEqual([joined.status, joined.body], [400, taken], role);
      const enabled = await enable(own, key.id);
      assert.deepEqual([enabled.status, enabled.text], [404, missing.text], role);
    };
    await refused("stranger");
    for (const role of ["guest", "planner", "reporter", "developer"] as const) {
      await sql`delete from members where user_id = ${thief.id} and project_id = ${project.id}`.execute(
        app.services.db.write,
      );
      await on.member(thief, { project_id: project.id }, role);
      await refused(role);
    }
    assert.deepEqual(await on.stored(key.key), { keys: 1, links: 1 });
    await sql`update projects set visibility = 20 where id = ${project.id}`.execute(app.services.db.write);
    await refused("seen");
    await sql`update members set access_level = 40, expires_at = '2020-01-01'
      where user_id = ${thief.id} and project_id = ${project.id}`.execute(app.services.db.write);
    await refused("no longer");
  });

  test("a Maintainer by group or share may enable the keys of a project elsewhere", async () => {
    const [group, guests] = [await on.group(), await on.group()];
    const inherited = await on.keyProject();
    await sql`update projects set namespace_id = ${group} where id = ${inherited.id}`.execute(app.services.db.write);
    const shared = await on.keyProject();
    await on.share({ project_id: shared.id }, guests, "maintainer");
    const user = await app.makeUser();
    await on.member(user, { group_id: group }, "maintainer");
    await on.member(user, { group_id: guests }, "owner");
    for (const project of [inherited, shared]) {
      const key = await on.added(project, { can_push: true });
      const enabled = await enable(await on.keyProject(user), key.id);
      assert.equal(enabled.status, 201);
      assert.equal((await on.post(await on.keyProject(user), { title: "x", key: key.key })).status, 201);
    }
  });

  test("enabling grants read access, and does not change an enabled key", async () => {
    const project = await on.keyProject();
    const other = await on.keyProject(project.maintainer);
    const key = await on.added(project, { can_push: true });
    const { status, body } = await enable(other, key.id);
    assert.deepEqual([status, body], [201, { ...key, can_push: false }]);
    const again = await enable(project, key.id);
    assert.deepEqual([again.status, again.body], [201, key]);
  });

  test("every Maintainer may enable a public key, nobody a user's key", async () => {
    const key = await publicKey();
    assert.equal((await enable(await on.keyProject(), key.id)).status, 201);
    const joined = await on.post(await on.keyProject(), { title: "x", key: key.key, can_push: true });
    assert.deepEqual(
      [joined.status, joined.body.id, joined.body.title, joined.body.can_push],
      [...[201, key.id, "Public", true]],
    );
    const project = await on.keyProject();
    const line = newSshKey();
    const { token } = project.maintainer;
    const { body: own } = await app.post("/user/keys", { token, payload: { title: "Own", key: line } });
    assert.equal((await enable(project, own.id)).status, 404);
    assert.equal((await enable(project, own.id, admin)).status, 404);
    for (const user of [project.maintainer, admin]) {
      const refused = await on.post(project, { title: "x", key: line }, user);
      assert.deepEqual([refused.status, refused.body], [400, taken]);
    }
    const both = await on.post(project, { title: " ", key: line });
    assert.deepEqual(both.body.message, { "deploy_key.title": ["can't be blank"], ...taken.message });
  });

  test("a private key is deleted with its last project, a public one is not", async () => {
    const project = await on.keyProject();
    const other = await on.keyProject(project.maintainer);
    const key = await on.added(project);
    await enable(other, key.id);
    const first = await remove(project, key.id);
    assert.deepEqual([first.status, first.text, await exists(key.id)], [204, "", true]);
    assert.deepEqual((await app.get(project.keys, { token: project.maintainer.token })).body, []);
    assert.equal((await remove(other, key.id)).status, 204);
    assert.equal(await exists(key.id), false);
    assert.equal((await remove(other, key.id)).status, 404);
    assert.equal((await on.post(project, { title: "Again", key: key.key })).status, 201, "it is free again");

    const open = await publicKey();
    await enable(project, open.id);
    assert.equal((await remove(project, open.id)).status, 204);
    assert.equal(await exists(open.id), true);
  });

  test("`disable` does the same and returns the key", async () => {
    const project = await on.keyProject();
    const key = await on.added(project);
    const { status, body } = await app.post(`${project.keys}/${key.id}/disable`, { token: project.maintainer.token });
    assert.deepEqual([status, body.id, body.key], [201, key.id, key.key]);
    assert.equal(await exists(key.id), false);
  });

  test("deleting a project deletes private keys that no other project uses", async () => {
    const project = await on.keyProject();
    const other = await on.keyProject(project.maintainer);
    const [only, shared, open] = [await on.added(project), await on.added(project), await publicKey()];
    await enable(other, shared.id);
    await enable(project, open.id);
    await sql`delete from projects where id = ${project.id}`.execute(app.services.db.write);
    assert.deepEqual(await Promise.all([only, shared, open].map(({ id }) => exists(id))), [false, true, true]);
  });

  test("deleting its last two projects concurrently deletes the key", async () => {
    const project = await on.keyProject();
    const other = await on.keyProject(project.maintainer);
    const key = await on.added(project);
    await enable(other, key.id);
    const { db } = app.services;
    const second = await db.transaction(async (tx) => {
      await sql`delete from projects where id = ${project.id}`.execute(tx);
      const removal = elsewhere(db, () => sql`delete from projects where id = ${other.id}`.execute(db.write));
      // Long enough for the other transaction to reach the key and wait for it.
      await sleep(100);
      return { removal };
    });
    await second.removal;
    assert.equal(await exists(key.id), false);
  });

  test("fifty concurrent additions to one project register the key once", async () => {
    const project = await on.keyProject();
    const key = newSshKey();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => on.post(project, { title: `Try ${n}`, key, can_push: n % 2 === 0 })),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    assert.deepEqual(await on.stored(key), { keys: 1, links: 1 });
  });

  test("concurrent additions to projects of several Maintainers register one key, for one of them", async () => {
    const mine = await on.keyProject();
    const projects = [mine, await on.keyProject(mine.maintainer), await on.keyProject(mine.maintainer)];
    const key = newSshKey();
    const own = await Promise.all(projects.map((project) => on.post(project, { title: "Ship", key })));
    assert.deepEqual(
      own.map(({ status }) => status),
      [201, 201, 201],
    );
    assert.deepEqual(await on.stored(key), { keys: 1, links: 3 });
    const contested = newSshKey();
    const strangers = await Promise.all([on.keyProject(), on.keyProject(), on.keyProject()]);
    const answers = await Promise.all(strangers.map((project) => on.post(project, { title: "Ship", key: contested })));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, 400, 400],
    );
    assert.deepEqual(await on.stored(contested), { keys: 1, links: 1 });
  });

  test("concurrent removals and enablings keep the key exactly as long as a project uses it", async () => {
    for (let round = 0; round < 10; round++) {
      const project = await on.keyProject();
      const others = [await on.keyProject(project.maintainer), await on.keyProject(project.maintainer)];
      const key = await on.added(project);
      const [first, second] = others as [KeyProject, KeyProject];
      await enable(first, key.id);
      const answers = await Promise.all([
        remove(project, key.id),
        remove(first, key.id),
        enable(second, key.id),
        on.post(second, { title: "Ship", key: key.key }),
      ]);
      assert.ok(
        answers.every(({ status }) => [201, 204, 404].includes(status)),
        answers.map(({ status, text }) => `${status} ${text}`).join("\n"),
      );
      const found = await on.stored(key.key);
      assert.equal(found?.keys, Math.min(found?.links ?? 0, 1));
      assert.equal(found?.links, 1, "who added it has it");
    }
  });
});
