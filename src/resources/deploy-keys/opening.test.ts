import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, testApp } from "#test/support/app.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";
import { deployKeyIn, keyForSsh, recordKeyUse } from "./queries.ts";
import { fingerprintOf, keysOn } from "./test-support.ts";

describe("what a key opens", () => {
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

  test("a user's key leads to the user, as they are now", async () => {
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

  test("the key of a service account is as good as gone while its group ends", async () => {
    const group = await on.group();
    const { id, token } = await app.makeUser({ user_type: "service_account", provisioned_by_group_id: group });
    const line = newSshKey("a");
    assert.equal((await app.post("/user/keys", { token, payload: { key: line } })).status, 201);
    const place = await on.site({ id, token } as Awaited<ReturnType<typeof app.makeUser>>);
    const deploy = await on.added(place);
    await sql`update namespaces set marked_for_deletion_at = now() where id = ${group}`.execute(app.services.db.write);
    assert.equal(await found(line), undefined);
    assert.equal((await found(deploy.key))?.id, deploy.id, "a deploy key is nobody's but its own");
  });

  test("a deploy key is its own, blocked or not whoever added it", async () => {
    const place = await on.site();
    const { id, key: line } = await on.added(place, { can_push: true });
    await sql`update users set state = 'blocked' where id = ${place.maintainer.id}`.execute(app.services.db.write);
    const key = await found(line);
    assert.ok(key?.kind === "deploy");
    assert.deepEqual([key.id, key.user_id, key.expired], [id, place.maintainer.id, false]);
    assert.deepEqual(await deployKeyIn(app.services.db, id, place.id), { can_push: true });
  });

  test("in the projects where it is enabled, from the next moment on", async () => {
    const place = await on.site();
    const other = await on.site(place.maintainer);
    const key = await on.added(place);
    const { token } = place.maintainer;
    const opens = () => Promise.all([place, other].map(({ id }) => deployKeyIn(app.services.db, key.id, id)));
    const [reads, pushes] = [{ can_push: false }, { can_push: true }];
    assert.deepEqual(await opens(), [reads, undefined]);
    await app.post(`${other.keys}/${key.id}/enable`, { token });
    await app.put(`${other.keys}/${key.id}`, { token, payload: { can_push: true } });
    assert.deepEqual(await opens(), [reads, pushes]);
    await app.delete(`${place.keys}/${key.id}`, { token });
    assert.deepEqual(await opens(), [undefined, pushes]);
    await app.post(`${other.keys}/${key.id}/disable`, { token });
    assert.deepEqual([...(await opens()), await found(key.key)], [undefined, undefined, undefined]);
  });

  test("nothing once it has expired, by the clock of the database", async () => {
    const place = await on.site();
    const key = await on.added(place, { expires_at: "2040-01-01T00:00:00Z" });
    assert.equal((await found(key.key))?.expired, false);
    await set(key.id, sql`expires_at = now()`);
    assert.equal((await found(key.key))?.expired, true);
    assert.equal(await deployKeyIn(app.services.db, key.id, place.id), undefined);
    const { body } = await app.get(place.keys, { token: place.maintainer.token });
    assert.equal(body[0].id, key.id, "it is still listed");
  });

  test("its last use is written down, at most every ten minutes", async () => {
    const place = await on.site();
    const { id, key: line } = await on.added(place);
    const lastUsed = async () =>
      (await app.get(`${place.keys}/${id}`, { token: place.maintainer.token })).body.last_used_at;
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

  test("whoever changes a key does not keep its users waiting", async () => {
    const place = await on.site();
    const { id, key: line } = await on.added(place);
    const key = await found(line);
    assert.ok(key);
    await app.services.db.transaction(async (tx) => {
      await sql`select from keys where id = ${id} for update`.execute(tx);
      await recordKeyUse(app.services.db, key);
    });
    assert.equal((await found(line))?.use_unrecorded, true);
  });
});
