import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { STATES } from "#access/user-kinds.ts";
import { runWorker } from "#jobs/worker.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { deletions } from "#domains/index.ts";
import { removeUser } from "#domains/identity/users/jobs.ts";

type State = (typeof STATES)[number];
const PENDING = "blocked_pending_approval";

/** The state that a user in each state gets, or the message of the refusal; written by hand. */
const TRANSITIONS: Record<string, Record<State, string>> = {
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

describe("moderation of users", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  const change = (id: number, name: string) => app.post(`/users/${id}/${name}`, { token: admin.token });
  const stateOf = async (id: number) => (await app.get(`/users/${id}`, { token: admin.token })).body.state;

  for (const [name, outcomes] of Object.entries(TRANSITIONS)) {
    test(`${name} from each state`, async () => {
      for (const state of STATES) {
        const { id } = await app.makeUser({ state });
        const { status, body } = await change(id, name);
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

  test("a user who is no longer active has no sessions and cannot sign in", async () => {
    for (const [name, expected] of [
      ["block", /Your account has been blocked/],
      ["ban", /Your account has been blocked/],
      ["deactivate", /Your account has been deactivated/],
    ] as const) {
      const user = await app.makeUser();
      await sql`insert into sessions (user_id, digest) values (${user.id}, ${Buffer.from(name)})`.execute(
        app.services.db.write,
      );
      assert.equal((await change(user.id, name)).status, 201);
      assert.match((await app.get("/user", { token: user.token })).text, expected);
      const { rows } = await sql`select from sessions where user_id = ${user.id}`.execute(app.services.db.write);
      assert.equal(rows.length, 0, name);
    }
  });

  test("administrators cannot close their own account or an internal one", async () => {
    const bot = await app.makeUser({ user_type: "alert_bot" });
    for (const [name, own, internal] of [
      ["block", "blocked", "An internal user cannot be blocked"],
      ["ban", "banned", "You cannot ban internal users."],
      ["deactivate", "deactivated", "Internal users cannot be deactivated"],
    ] as const) {
      const oneself = await change(admin.id, name);
      assert.equal(oneself.status, 403);
      assert.equal(oneself.body.message, `403 Forbidden - The API initiating user cannot be ${own} by the API`);
      assert.deepEqual((await change(bot.id, name)).body, { message: internal });
    }
    const service = await app.makeUser({ user_type: "service_account" });
    assert.equal((await change(service.id, "block")).status, 201);
  });

  test("only users who were not active for 90 days can be deactivated", async () => {
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
    const recent = await app.makeUser({ last_activity_on: daysAgo(80) });
    const dormant = await app.makeUser({ last_activity_on: daysAgo(100) });
    const { status, body } = await change(recent.id, "deactivate");
    assert.equal(status, 403);
    assert.match(body.message, /has been active in the past 90 days and cannot be deactivated$/);
    assert.equal((await change(dormant.id, "deactivate")).status, 201);
  });

  test("reject deletes a user who is pending approval, and no other", async () => {
    for (const state of STATES.filter((state) => state !== PENDING)) {
      const { id } = await app.makeUser({ state });
      const { status, body } = await change(id, "reject");
      assert.equal(status, 409, state);
      assert.deepEqual(body, { message: "The user you are trying to reject is not pending approval" });
      assert.equal(await stateOf(id), state);
    }
    const { id } = await app.makeUser({ state: PENDING });
    const { status, body } = await change(id, "reject");
    assert.equal(status, 201);
    assert.equal(body, true);
    assert.equal((await app.get(`/users/${id}`, { token: admin.token })).status, 404);
    const worker = await runWorker(app.services, [removeUser(deletions)], { queues: ["bulk"] });
    await until("the user is gone", async () => {
      const { rows } = await sql`select from users where id = ${id}`.execute(app.services.db.write);
      return rows.length === 0;
    });
    await worker.stop();
  });

  test("only administrators may; an unknown user is 404; each change is audited", async () => {
    const user = await app.makeUser();
    for (const name of [...Object.keys(TRANSITIONS), "reject"]) {
      assert.equal((await app.post(`/users/${user.id}/${name}`)).status, 401);
      assert.equal((await app.post(`/users/${user.id}/${name}`, { token: user.token })).status, 403);
      assert.deepEqual((await change(999_999_999, name)).body, { message: "404 User Not Found" });
    }
    const { headers } = await change(user.id, "block");
    const row = await app.services.db.read
      .selectFrom("audit_events")
      .selectAll()
      .where("request_id", "=", headers["x-request-id"] ?? "")
      .executeTakeFirstOrThrow();
    assert.equal(row.event, "user_blocked");
    assert.deepEqual(row.details, { from: "active" });
  });
});
