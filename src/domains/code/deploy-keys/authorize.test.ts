import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { elsewhere } from "#test/support/elsewhere.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";
import { deployKeyIn, keyForSsh, recordKeyUse } from "./queries.ts";
import { fingerprintOf, keysOn } from "./test-support.ts";

describe("keys over SSH", () => {
  let app: TestApp;
  let on: ReturnType<typeof keysOn>;
  before(async () => {
    app = await testApp();
    on = keysOn(app);
  });
  after(() => app.close());

  const found = (line: string) => keyForSsh(app.services.db, fingerprintOf(line));
  const set = (id: number, columns: ReturnType<typeof sql>) =>
    sql`update keys set ${columns} where id = ${id}`.execute(app.services.db.write);

  test("a user's key is found with the current state of the user", async () => {
    const user = await app.makeUser();
    const line = newSshKey("a");
    const { body } = await app.post("/user/keys", { token: user.token, payload: { key: line } });
    const key = await found(line);
    assert.ok(key?.kind === "user");
    assert.deepEqual(
      [key.id, key.title, key.usage_type, key.expired, key.use_unrecorded],
      [...[body.id, "a", "auth_and_signing", false, true]],
    );
    assert.deepEqual(
      [key.user.id, key.user.username, key.user.state, key.user.admin],
      [...[user.id, user.username, "active", false]],
    );
    await sql`update users set state = 'blocked' where id = ${user.id}`.execute(app.services.db.write);
    const blocked = await found(line);
    assert.ok(blocked?.kind === "user");
    assert.equal(blocked.user.state, "blocked");
    assert.equal(await found(newSshKey()), undefined);
    assert.equal(await keyForSsh(app.services.db, "\0"), undefined);
  });

  test("the key of a service account is not found while its group is being deleted", async () => {
    const group = await on.group();
    const { id, token } = await app.makeUser({ user_type: "service_account", provisioned_by_group_id: group });
    const line = newSshKey("a");
    assert.equal((await app.post("/user/keys", { token, payload: { key: line } })).status, 201);
    const project = await on.keyProject({ id, token } as Awaited<ReturnType<typeof app.makeUser>>);
    const deploy = await on.added(project);
    await sql`update namespaces set marked_for_deletion_at = now() where id = ${group}`.execute(app.services.db.write);
    assert.equal(await found(line), undefined);
    assert.equal((await found(deploy.key))?.id, deploy.id, "a deploy key is not affected");
  });

  test("a deploy key works whether its creator is blocked or not", async () => {
    const project = await on.keyProject();
    const { id, key: line } = await on.added(project, { can_push: true });
    await sql`update users set state = 'blocked' where id = ${project.maintainer.id}`.execute(app.services.db.write);
    const key = await found(line);
    assert.ok(key?.kind === "deploy");
    assert.deepEqual([key.id, key.user_id, key.expired], [id, project.maintainer.id, false]);
    assert.deepEqual(await deployKeyIn(app.services.db, id, project.id), { can_push: true });
  });

  test("a deploy key may use the projects that enabled it, at once", async () => {
    const project = await on.keyProject();
    const other = await on.keyProject(project.maintainer);
    const key = await on.added(project);
    const { token } = project.maintainer;
    const opens = () => Promise.all([project, other].map(({ id }) => deployKeyIn(app.services.db, key.id, id)));
    const [reads, pushes] = [{ can_push: false }, { can_push: true }];
    assert.deepEqual(await opens(), [reads, undefined]);
    await app.post(`${other.keys}/${key.id}/enable`, { token });
    await app.put(`${other.keys}/${key.id}`, { token, payload: { can_push: true } });
    assert.deepEqual(await opens(), [reads, pushes]);
    await app.delete(`${project.keys}/${key.id}`, { token });
    assert.deepEqual(await opens(), [undefined, pushes]);
    await app.post(`${other.keys}/${key.id}/disable`, { token });
    assert.deepEqual([...(await opens()), await found(key.key)], [undefined, undefined, undefined]);
  });

  test("an expired deploy key may use nothing, by the clock of the database", async () => {
    const project = await on.keyProject();
    const key = await on.added(project, { expires_at: "2040-01-01T00:00:00Z" });
    assert.equal((await found(key.key))?.expired, false);
    await set(key.id, sql`expires_at = now() - interval '1 ms'`);
    assert.equal((await found(key.key))?.expired, true);
    assert.equal(await deployKeyIn(app.services.db, key.id, project.id), undefined);
    const { body } = await app.get(project.keys, { token: project.maintainer.token });
    assert.equal(body[0].id, key.id, "it is still listed");
  });

  test("the last use of a key is recorded at most every ten minutes", async () => {
    const project = await on.keyProject();
    const { id, key: line } = await on.added(project);
    const lastUsed = async () =>
      (await app.get(`${project.keys}/${id}`, { token: project.maintainer.token })).body.last_used_at;
    const use = async () => recordKeyUse(app.services.db, (await found(line)) ?? assert.fail());
    await use();
    const first = await lastUsed();
    assert.ok(Math.abs(Date.parse(first) - Date.now()) < 60_000);
    assert.equal((await found(line))?.use_unrecorded, false);
    await use();
    assert.equal(await lastUsed(), first);
    await set(id, sql`last_used_at = now() - interval '11 minutes'`);
    const before = await lastUsed();
    await use();
    assert.ok((await lastUsed()) > before);
  });

  test("a locked key does not delay its use", async () => {
    const project = await on.keyProject();
    const { id, key: line } = await on.added(project);
    const key = await found(line);
    assert.ok(key);
    await app.services.db.transaction(async (tx) => {
      await sql`select from keys where id = ${id} for update`.execute(tx);
      await elsewhere(app.services.db, () => recordKeyUse(app.services.db, key));
    });
    assert.equal((await found(line))?.use_unrecorded, true);
  });
});
