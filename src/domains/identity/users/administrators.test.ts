import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { sql } from "kysely";
import { fairlead, withDirectory } from "#test/support/command.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { changeState } from "#domains/identity/moderation/actions.ts";
import { updateUser } from "./actions.ts";

const REFUSAL = {
  message: "403 Forbidden - the last active administrator must stay one; make another administrator first",
};

describe("the last active administrator", () => {
  let app: TestApp;
  let databaseUrl: string;
  let admin: TestUser;
  before(async () => {
    databaseUrl = await freshDatabase();
    app = await testApp({ databaseUrl });
  });
  after(() => app.close());
  beforeEach(async () => {
    await sql`update users set admin = false`.execute(app.services.db.write);
    admin = await app.makeUser({ admin: true }, ["api", "sudo"]);
  });

  const demote = (whom: TestUser, by = admin) =>
    app.put(`/users/${whom.id}`, { token: by.token, payload: { admin: false } });
  const administrators = async () => {
    const { rows } = await sql<{ id: number }>`
      select id from users where admin and state = 'active' and removal_began_at is null order by id`.execute(
      app.services.db.write,
    );
    return rows.map(({ id }) => id);
  };

  test("cannot demote themselves", async () => {
    const { status, body } = await demote(admin);
    assert.equal(status, 403);
    assert.deepEqual(body, REFUSAL);
    const other = await app.makeUser({ admin: true });
    assert.equal((await demote(admin)).status, 200);
    assert.deepEqual(await administrators(), [other.id]);
  });

  test("is one who can sign in: not closed, unconfirmed, a bot or being deleted", async () => {
    await app.makeUser({ admin: true, state: "blocked" });
    await app.makeUser({ admin: true, state: "deactivated" });
    await app.makeUser({ admin: true, confirmed_at: null });
    await app.makeUser({ admin: true, user_type: "service_account" });
    await app.makeUser({ admin: true, removal_began_at: new Date().toISOString() });
    assert.deepEqual((await demote(admin)).body, REFUSAL);
  });

  test("cannot be blocked, banned, deactivated or deleted by a bot that is an administrator", async () => {
    const bot = await app.makeUser({ admin: true, user_type: "service_account" });
    for (const name of ["block", "ban", "deactivate"]) {
      const { body } = await app.post(`/users/${admin.id}/${name}`, { token: bot.token });
      assert.deepEqual(body, REFUSAL, name);
    }
    for (const query of ["", "?hard_delete=true"])
      assert.deepEqual((await app.delete(`/users/${admin.id}${query}`, { token: bot.token })).body, REFUSAL);
    assert.deepEqual((await demote(admin, bot)).body, REFUSAL);
    const other = await app.makeUser({ admin: true });
    assert.equal((await app.post(`/users/${admin.id}/block`, { token: bot.token })).status, 201);
    assert.deepEqual(await administrators(), [bot.id, other.id]);
  });

  const isLockAwaited = async () => {
    const { rows } = await sql`
      select from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`.execute(app.services.db.read);
    return rows.length === 1;
  };

  test("remains when two administrators demote and block each other at the same moment", async () => {
    const other = await app.makeUser({ admin: true });
    const { db, settings, blobs } = app.services;
    const options = { settings: await settings.current(), blobs, passwordDigest: undefined, actorId: admin.id };
    const [demoted, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const demoting = db.transaction(async (tx) => {
      await updateUser(tx, { id: other.id, admin: false }, options);
      demoted.resolve();
      await ended.promise;
    });
    await demoted.promise;
    const blocking = db.transaction((tx) => changeState(tx, "block", admin.id, other.id));
    const refused = assert.rejects(blocking, /the last active administrator/);
    try {
      await until("the second waits for the first", isLockAwaited);
    } finally {
      ended.resolve();
    }
    await Promise.all([demoting, refused]);
    assert.deepEqual(await administrators(), [admin.id]);
  });

  test("can be granted and revoked by the command, which is audited", () =>
    withDirectory(async (directory) => {
      const env = { FAIRLEAD_DATABASE_URL: databaseUrl, FAIRLEAD_DATA_DIR: directory };
      const user = await app.makeUser();
      const granted = await fairlead(["admin", "grant", user.username.toUpperCase()], env);
      assert.equal(granted.code, 0, granted.stderr);
      assert.equal(granted.stdout, `${user.username} is now an administrator.\n`);
      assert.deepEqual(await administrators(), [admin.id, user.id]);
      const { body } = await app.get("/audit_events", { token: user.token });
      const { event_name, author_id, details } = body[0];
      assert.deepEqual(
        [event_name, author_id, details.target_id, details.ip_address, details.data],
        ["user_updated", null, user.id, null, { changed: ["admin"], command: "admin grant" }],
      );

      assert.equal((await fairlead(["admin", "revoke", admin.username], env)).code, 0);
      assert.deepEqual(await administrators(), [user.id]);
      const blocked = await app.makeUser({ state: "blocked" });
      for (const [args, problem] of [
        [["admin"], /usage: fairlead admin grant/],
        [["admin", "grant"], /usage: fairlead admin grant/],
        [["admin", "make", user.username], /usage: fairlead admin grant/],
        [["admin", "grant", "nobody"], /there is no user 'nobody'/],
        [["admin", "grant", blocked.username], /Your account has been blocked/],
        [["admin", "revoke", user.username], /the last active administrator/],
      ] as const) {
        const { code, stderr } = await fairlead(args, env);
        assert.equal(code, 1, args.join(" "));
        assert.match(stderr, problem);
      }
      assert.deepEqual(await administrators(), [user.id]);
    }));
});
