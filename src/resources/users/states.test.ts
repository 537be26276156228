import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { STATES } from "#access/user-kinds.ts";
import { runWorker } from "#jobs/worker.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { removeUser } from "./jobs.ts";

type State = (typeof STATES)[number];
const PENDING = "blocked_pending_approval";

/** What becomes of a user in each state, or what is said instead; said by hand. */
const MOVES: Record<string, Record<State, string>> = {
  block: {
    active: "blocked",
    deactivated: "blocked",
    blocked: "blocked",
    [PENDING]: "blocked",
    ldap_blocked: "403 Forbidden - LDAP blocked users cannot be modified by the API",
    banned: "403 Forbidden - Banned users cannot be modified by the API",
  },
  unblock: {
    active: "active",
    blocked: "active",
    [PENDING]: "active",
    banned: "active",
    deactivated: "403 Forbidden - Deactivated users cannot be unblocked by the API",
    ldap_blocked: "403 Forbidden - LDAP blocked users cannot be unblocked by the API",
  },
  ban: {
    active: "banned",
    blocked: "You cannot ban blocked users.",
    [PENDING]: "You cannot ban blocked_pending_approval users.",
    banned: "You cannot ban banned users.",
    deactivated: "You cannot ban deactivated users.",
    ldap_blocked: "You cannot ban ldap_blocked users.",
  },
  unban: {
    banned: "active",
    active: "You cannot unban active users.",
    blocked: "You cannot unban blocked users.",
    [PENDING]: "You cannot unban blocked_pending_approval users.",
    deactivated: "You cannot unban deactivated users.",
    ldap_blocked: "You cannot unban ldap_blocked users.",
  },
  deactivate: {
    active: "deactivated",
    deactivated: "deactivated",
    blocked: "Error occurred. A blocked user cannot be deactivated",
    [PENDING]: "Error occurred. A blocked user cannot be deactivated",
    banned: "Error occurred. A blocked user cannot be deactivated",
    ldap_blocked: "Error occurred. A blocked user cannot be deactivated",
  },
  activate: {
    active: "active",
    deactivated: "active",
    blocked: "Error occurred. A blocked user must be unblocked to be activated",
    [PENDING]: "Error occurred. A blocked user must be unblocked to be activated",
    banned: "Error occurred. A blocked user must be unblocked to be activated",
    ldap_blocked: "Error occurred. A blocked user must be unblocked to be activated",
  },
  approve: {
    [PENDING]: "active",
    active: "The user you are trying to approve is not pending approval",
    deactivated: "The user you are trying to approve is not pending approval",
    blocked: "The user you are trying to approve is not pending approval",
    banned: "The user you are trying to approve is not pending approval",
    ldap_blocked: "The user you are trying to approve is not pending approval",
  },
};

describe("states of users", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const move = (id: number, name: string) => app.post(`/users/${id}/${name}`, { token: admin.token });
  const stateOf = async (id: number) => (await app.get(`/users/${id}`, { token: admin.token })).body.state;

  for (const [name, outcomes] of Object.entries(MOVES)) {
    test(`${name} from each state`, async () => {
      for (const state of STATES) {
        const { id } = await app.makeUser({ state });
        const { status, body } = await move(id, name);
        const outcome = outcomes[state];
        if (STATES.includes(outcome as State)) {
          assert.equal(status, 201, state);
          assert.equal(body, true);
          assert.equal(await stateOf(id), outcome);
        } else {
          assert.equal(status, name === "approve" ? 409 : 403, state);
          assert.deepEqual(body, { message: outcome });
          assert.equal(await stateOf(id), state);
        }
      }
    });
  }

  test("whoever is no longer active has no sessions and no way in", async () => {
    for (const [name, expected] of [
      ["block", /Your account has been blocked/],
      ["ban", /Your account has been blocked/],
      ["deactivate", /Your account has been deactivated/],
    ] as const) {
      const user = await app.makeUser();
      await sql`insert into sessions (user_id, digest) values (${user.id}, ${Buffer.from(name)})`.execute(
        app.services.db.write,
      );
      assert.equal((await move(user.id, name)).status, 201);
      assert.match((await app.get("/user", { token: user.token })).text, expected);
      const { rows } = await sql`select from sessions where user_id = ${user.id}`.execute(app.services.db.write);
      assert.equal(rows.length, 0, name);
    }
  });

  test("nobody shuts themselves out, or the installation's own accounts", async () => {
    const bot = await app.makeUser({ user_type: "alert_bot" });
    for (const [name, own, internal] of [
      ["block", "blocked", "An internal user cannot be blocked"],
      ["ban", "banned", "You cannot ban internal users."],
      ["deactivate", "deactivated", "Internal users cannot be deactivated"],
    ] as const) {
      const oneself = await move(admin.id, name);
      assert.equal(oneself.status, 403);
      assert.equal(oneself.body.message, `403 Forbidden - The API initiating user cannot be ${own} by the API`);
      assert.deepEqual((await move(bot.id, name)).body, { message: internal });
    }
    const service = await app.makeUser({ user_type: "service_account" });
    assert.equal((await move(service.id, "block")).status, 201);
  });

  test("deactivate is for those who have not been here for 90 days", async () => {
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
    const here = await app.makeUser({ last_activity_on: daysAgo(80) });
    const away = await app.makeUser({ last_activity_on: daysAgo(100) });
    const { status, body } = await move(here.id, "deactivate");
    assert.equal(status, 403);
    assert.match(body.message, /has been active in the past 90 days and cannot be deactivated$/);
    assert.equal((await move(away.id, "deactivate")).status, 201);
  });

  test("reject deletes whoever waits, and nobody else", async () => {
    for (const state of STATES.filter((state) => state !== PENDING)) {
      const { id } = await app.makeUser({ state });
      const { status, body } = await move(id, "reject");
      assert.equal(status, 409, state);
      assert.deepEqual(body, { message: "The user you are trying to reject is not pending approval" });
      assert.equal(await stateOf(id), state);
    }
    const { id } = await app.makeUser({ state: PENDING });
    const { status, body } = await move(id, "reject");
    assert.equal(status, 201);
    assert.equal(body, true);
    assert.equal((await app.get(`/users/${id}`, { token: admin.token })).status, 404);
    const worker = await runWorker(app.services, [removeUser], { queues: ["bulk"] });
    await until("the user is gone", async () => {
      const { rows } = await sql`select from users where id = ${id}`.execute(app.services.db.write);
      return rows.length === 0;
    });
    await worker.stop();
  });

  test("only administrators; nobody is 404; each is recorded", async () => {
    const user = await app.makeUser();
    for (const name of [...Object.keys(MOVES), "reject"]) {
      assert.equal((await app.post(`/users/${user.id}/${name}`)).status, 401);
      assert.equal((await app.post(`/users/${user.id}/${name}`, { token: user.token })).status, 403);
      assert.deepEqual((await move(999_999_999, name)).body, { message: "404 User Not Found" });
    }
    const { headers } = await move(user.id, "block");
    const row = await app.services.db.read
      .selectFrom("audit_events")
      .selectAll()
      .where("request_id", "=", headers["x-request-id"] ?? "")
      .executeTakeFirstOrThrow();
    assert.equal(row.event, "user_blocked");
    assert.deepEqual(row.details, { from: "active" });
  });
});

describe("PATCH /users/:id/disable_two_factor", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());
  const disable = (id: number, token = admin.token) => app.call("PATCH", `/users/${id}/disable_two_factor`, { token });

  test("204, 400, 403 and 404", async () => {
    const user = await app.makeUser({ two_factor_enabled: true });
    await sql`insert into second_factors (user_id, sealed_secret, confirmed_at) values (${user.id}, 'x', now())`.execute(
      app.services.db.write,
    );
    assert.equal((await disable(user.id, user.token)).status, 403);
    assert.equal((await disable(user.id)).status, 204);
    assert.equal((await app.get(`/users/${user.id}`, { token: admin.token })).body.two_factor_enabled, false);
    const { rows } = await sql`select from second_factors where user_id = ${user.id}`.execute(app.services.db.write);
    assert.equal(rows.length, 0);
    const again = await disable(user.id);
    assert.equal(again.status, 400);
    assert.deepEqual(again.body, {
      message: "400 Bad request - Two-factor authentication is not enabled for this user",
    });
    const boss = await app.makeUser({ admin: true, two_factor_enabled: true });
    const refused = await disable(boss.id);
    assert.equal(refused.status, 403);
    assert.match(refused.body.message, /^403 Forbidden - Two-factor authentication for admins cannot be disabled/);
    assert.equal((await disable(999_999_999)).status, 404);
  });
});

describe("DELETE /users/:id/identities/:provider", () => {
  test("takes the identity away: 204, then 404", async () => {
    const app = await testApp();
    try {
      const admin = await app.makeUser({ admin: true });
      const user = await app.makeUser();
      for (const provider of ["github", "ldapmain"]) {
        const payload = { provider, extern_uid: `x${user.id}` };
        await app.put(`/users/${user.id}`, { token: admin.token, payload });
      }
      const remove = (id: number, provider: string, token = admin.token) =>
        app.delete(`/users/${id}/identities/${provider}`, { token });
      assert.equal((await remove(user.id, "github", user.token)).status, 403);
      assert.equal((await remove(user.id, "github")).status, 204);
      const gone = await remove(user.id, "github");
      assert.equal(gone.status, 404);
      assert.deepEqual(gone.body, { message: "404 Identity Not Found" });
      assert.deepEqual((await remove(999_999_999, "github")).body, { message: "404 User Not Found" });
      const { body } = await app.get(`/users/${user.id}`, { token: admin.token });
      assert.deepEqual(body.identities, [{ provider: "ldapmain", extern_uid: `x${user.id}` }]);
    } finally {
      await app.close();
    }
  });
});
