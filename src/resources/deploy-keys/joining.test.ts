import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { newSshKey } from "#test/support/ssh-keys.ts";
import { keysOn, type Site, TAKEN } from "./test-support.ts";

describe("a key that opens several projects", () => {
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
  const enable = ({ keys, maintainer }: Site, id: number, { token } = maintainer) =>
    app.post(`${keys}/${id}/enable`, { token });
  const remove = ({ keys, maintainer }: Site, id: number) => app.delete(`${keys}/${id}`, { token: maintainer.token });
  const exists = async (id: number) => {
    const { rows } = await sql`select from keys where id = ${id}`.execute(app.services.db.write);
    return rows.length === 1;
  };
  const publicKey = async (line = newSshKey()) => {
    const { body } = await app.post("/deploy_keys", { token: admin.token, payload: { title: "Public", key: line } });
    return body;
  };

  test("added again where it is, it is as it was, whatever else is sent", async () => {
    const place = await on.site();
    const key = await on.added(place);
    for (const line of [key.key, `${key.key} another comment`]) {
      const again = await on.post(place, { title: " ", key: line, can_push: true, expires_at: "2020-01-01T00:00:00Z" });
      assert.deepEqual([again.status, again.body], [201, key]);
    }
    assert.deepEqual(await on.stored(key.key), { keys: 1, links: 1 });
  });

  test("added to another project of its Maintainer, it is joined with the rights that are asked for", async () => {
    const place = await on.site();
    const other = await on.site(place.maintainer);
    const key = await on.added(place, { expires_at: "2040-01-01T00:00:00Z" });
    const joined = await on.post(other, {
      title: "Other",
      key: `${key.key} x`,
      can_push: true,
      expires_at: "2041-01-01",
    });
    assert.deepEqual([joined.status, joined.body], [201, { ...key, can_push: true }]);
    assert.deepEqual(await on.stored(key.key), { keys: 1, links: 2 });
    assert.equal((await app.get(place.keys, { token: place.maintainer.token })).body[0].can_push, false);
  });

  test("of a project that the caller does not maintain it is neither joined nor enabled, nor told apart", async () => {
    const place = await on.site();
    const key = await on.added(place);
    const thief = await app.makeUser();
    const own = await on.site(thief);
    const missing = await enable(own, 4503599627370495);
    const refused = async (role: string) => {
      const joined = await on.post(own, { title: "x", key: key.key });
      assert.deepEqual([joined.status, joined.body], [400, taken], role);
      const enabled = await enable(own, key.id);
      assert.deepEqual([enabled.status, enabled.text], [404, missing.text], role);
    };
    await refused("stranger");
    for (const role of ["guest", "planner", "reporter", "developer"] as const) {
      await sql`delete from members where user_id = ${thief.id} and project_id = ${place.id}`.execute(
        app.services.db.write,
      );
      await on.member(thief, { project_id: place.id }, role);
      await refused(role);
    }
    assert.deepEqual(await on.stored(key.key), { keys: 1, links: 1 });
    await sql`update projects set visibility = 20 where id = ${place.id}`.execute(app.services.db.write);
    await refused("seen");
    await sql`update members set access_level = 40, expires_at = '2020-01-01'
      where user_id = ${thief.id} and project_id = ${place.id}`.execute(app.services.db.write);
    await refused("no longer");
  });

  test("by whatever way the caller maintains a project, its keys can be used elsewhere", async () => {
    const [group, guests] = [await on.group(), await on.group()];
    const inherited = await on.site();
    await sql`update projects set namespace_id = ${group} where id = ${inherited.id}`.execute(app.services.db.write);
    const shared = await on.site();
    await on.share({ project_id: shared.id }, guests, "maintainer");
    const user = await app.makeUser();
    await on.member(user, { group_id: group }, "maintainer");
    await on.member(user, { group_id: guests }, "owner");
    for (const place of [inherited, shared]) {
      const key = await on.added(place, { can_push: true });
      const enabled = await enable(await on.site(user), key.id);
      assert.equal(enabled.status, 201);
      assert.equal((await on.post(await on.site(user), { title: "x", key: key.key })).status, 201);
    }
  });

  test("enabled, it may read; enabled where it is already, it may do what it might before", async () => {
    const place = await on.site();
    const other = await on.site(place.maintainer);
    const key = await on.added(place, { can_push: true });
    const { status, body } = await enable(other, key.id);
    assert.deepEqual([status, body], [201, { ...key, can_push: false }]);
    const again = await enable(place, key.id);
    assert.deepEqual([again.status, again.body], [201, key]);
  });

  test("a public key is enabled or joined by every Maintainer, a user's key by nobody", async () => {
    const key = await publicKey();
    assert.equal((await enable(await on.site(), key.id)).status, 201);
    const joined = await on.post(await on.site(), { title: "x", key: key.key, can_push: true });
    assert.deepEqual(
      [joined.status, joined.body.id, joined.body.title, joined.body.can_push],
      [...[201, key.id, "Public", true]],
    );
    const place = await on.site();
    const line = newSshKey();
    const { token } = place.maintainer;
    const { body: own } = await app.post("/user/keys", { token, payload: { title: "Own", key: line } });
    assert.equal((await enable(place, own.id)).status, 404);
    assert.equal((await enable(place, own.id, admin)).status, 404);
    for (const user of [place.maintainer, admin]) {
      const refused = await on.post(place, { title: "x", key: line }, user);
      assert.deepEqual([refused.status, refused.body], [400, taken]);
    }
    const both = await on.post(place, { title: " ", key: line });
    assert.deepEqual(both.body.message, { "deploy_key.title": ["can't be blank"], ...taken.message });
  });

  test("a private one goes with its last project, a public one never", async () => {
    const place = await on.site();
    const other = await on.site(place.maintainer);
    const key = await on.added(place);
    await enable(other, key.id);
    const first = await remove(place, key.id);
    assert.deepEqual([first.status, first.text, await exists(key.id)], [204, "", true]);
    assert.deepEqual((await app.get(place.keys, { token: place.maintainer.token })).body, []);
    assert.equal((await remove(other, key.id)).status, 204);
    assert.equal(await exists(key.id), false);
    assert.equal((await remove(other, key.id)).status, 404);
    assert.equal((await on.post(place, { title: "Again", key: key.key })).status, 201, "it is free again");

    const open = await publicKey();
    await enable(place, open.id);
    assert.equal((await remove(place, open.id)).status, 204);
    assert.equal(await exists(open.id), true);
  });

  test("`disable` does the same, and tells the key", async () => {
    const place = await on.site();
    const key = await on.added(place);
    const { status, body } = await app.post(`${place.keys}/${key.id}/disable`, { token: place.maintainer.token });
    assert.deepEqual([status, body.id, body.key], [201, key.id, key.key]);
    assert.equal(await exists(key.id), false);
  });

  test("a project that is removed takes the private keys along that open nothing else", async () => {
    const place = await on.site();
    const other = await on.site(place.maintainer);
    const [only, shared, open] = [await on.added(place), await on.added(place), await publicKey()];
    await enable(other, shared.id);
    await enable(place, open.id);
    await sql`delete from projects where id = ${place.id}`.execute(app.services.db.write);
    assert.deepEqual(await Promise.all([only, shared, open].map(({ id }) => exists(id))), [false, true, true]);
  });

  test("its last two projects, removed at once, take it along", async () => {
    const place = await on.site();
    const other = await on.site(place.maintainer);
    const key = await on.added(place);
    await enable(other, key.id);
    const { db } = app.services;
    const second = await db.transaction(async (tx) => {
      await sql`delete from projects where id = ${place.id}`.execute(tx);
      const removal = sql`delete from projects where id = ${other.id}`.execute(db.write);
      // Long enough for the other to come to the key, which it must wait for.
      await sleep(100);
      return { removal };
    });
    await second.removal;
    assert.equal(await exists(key.id), false);
  });

  test("fifty callers who add one key at once to one project all have it, once", async () => {
    const place = await on.site();
    const key = newSshKey();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => on.post(place, { title: `Try ${n}`, key, can_push: n % 2 === 0 })),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    assert.deepEqual(await on.stored(key), { keys: 1, links: 1 });
  });

  test("added at once to projects of one and of several Maintainers, it is one, and only of one of them", async () => {
    const mine = await on.site();
    const places = [mine, await on.site(mine.maintainer), await on.site(mine.maintainer)];
    const key = newSshKey();
    const own = await Promise.all(places.map((place) => on.post(place, { title: "Ship", key })));
    assert.deepEqual(
      own.map(({ status }) => status),
      [201, 201, 201],
    );
    assert.deepEqual(await on.stored(key), { keys: 1, links: 3 });
    const contested = newSshKey();
    const strangers = await Promise.all([on.site(), on.site(), on.site()]);
    const answers = await Promise.all(strangers.map((place) => on.post(place, { title: "Ship", key: contested })));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, 400, 400],
    );
    assert.deepEqual(await on.stored(contested), { keys: 1, links: 1 });
  });

  test("removed from its last projects at once while others enable it, it is there exactly while it opens one", async () => {
    for (let round = 0; round < 10; round++) {
      const place = await on.site();
      const others = [await on.site(place.maintainer), await on.site(place.maintainer)];
      const key = await on.added(place);
      const [first, second] = others as [Site, Site];
      await enable(first, key.id);
      const answers = await Promise.all([
        remove(place, key.id),
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
