import assert from "node:assert/strict";
import { argon2Sync } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { csrfTokenOf } from "#access/sessions.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import {
  browserOf,
  eventsOf,
  mailsTo,
  lock,
  makePerson,
  OTHER_PASSWORD,
  PASSWORD,
  signIn,
  tryToSignIn,
  userRow,
} from "./test-support.ts";

const WRONG = { message: "401 Unauthorized - Invalid login or password." };

describe("signing in", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
  });
  after(() => app.close());

  test("returns the user, a cookie that scripts cannot read, and a CSRF token derived from it", async () => {
    const person = await makePerson(app);
    const reply = await tryToSignIn(app, person.username, PASSWORD);
    assert.equal(reply.status, 201);
    const { csrf_token, expires_at, user, ...rest } = reply.body;
    assert.deepEqual(rest, {});
    assert.equal(user.id, person.id);
    assert.equal(user.email, person.email);
    assert.ok(Math.abs(Date.parse(expires_at) - Date.now() - 7 * 86_400_000) < 60_000);
    assert.match(String(reply.headers["set-cookie"]), /^fairlead_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
    const { secret, headers } = browserOf(reply);
    assert.equal(csrf_token, csrfTokenOf(secret));
    assert.equal(reply.headers["x-csrf-token"], csrf_token);
    assert.equal(reply.headers["cache-control"], "no-store");
    const { status, body } = await app.get("/user", { headers });
    assert.equal(status, 200);
    assert.equal(body.id, person.id);
  });

  test("the cookie is bound to the host and to TLS if the site uses https", async () => {
    const secure = await testApp({ env: { FAIRLEAD_EXTERNAL_URL: "https://code.example.com" } });
    try {
      const person = await makePerson(secure);
      const reply = await tryToSignIn(secure, person.username, PASSWORD);
      assert.match(
        String(reply.headers["set-cookie"]),
        /^__Host-fairlead=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
      );
      const { headers } = browserOf(reply);
      assert.equal((await secure.get("/user", { headers })).status, 200);
      const renamed = { ...headers, cookie: (headers["cookie"] ?? "").replace("__Host-fairlead", "fairlead_session") };
      assert.equal(
        (await secure.get("/user", { headers: renamed })).status,
        401,
        "the name without encryption is none",
      );
    } finally {
      await secure.close();
    }
  });

  test("a secret has 256 random bits, differs each time, and is stored only as SHA-256", async () => {
    const person = await makePerson(app);
    const secrets = [(await signIn(app, person)).secret, (await signIn(app, person)).secret];
    assert.equal(new Set(secrets).size, 2);
    const rows = await app.services.db.write
      .selectFrom("sessions")
      .selectAll()
      .where("user_id", "=", person.id)
      .execute();
    assert.equal(rows.length, 2);
    for (const secret of secrets) {
      assert.equal(Buffer.from(secret, "base64url").length, 32);
      assert.ok(!JSON.stringify(rows).includes(secret));
      assert.ok(!app.logged.join("").includes(secret));
    }
    for (const { digest } of rows) assert.equal(digest.length, 32);
    assert.ok(!app.logged.join("").includes(PASSWORD));
  });

  test("works with the username or a confirmed address, in any case", async () => {
    const person = await makePerson(app, { username: "Harbour.Pilot", email: "pilot@example.com" });
    await app.services.db.write
      .insertInto("emails")
      .values([
        { user_id: person.id, email: "pilot@home.example", confirmed_at: new Date().toISOString() },
        { user_id: person.id, email: "pilot@new.example" },
      ])
      .execute();
    for (const login of [
      "harbour.pilot",
      "HARBOUR.PILOT",
      "Pilot@Example.com",
      " pilot@home.example ",
      "PILOT@HOME.EXAMPLE",
    ])
      assert.equal((await tryToSignIn(app, login, PASSWORD)).status, 201, login);
    for (const login of ["pilot@new.example", "harbour", "harbour.pilo%", "Name of Harbour.Pilot"])
      assert.equal((await tryToSignIn(app, login, PASSWORD)).status, 401, login);
  });

  test("every refusal has the same answer, whatever the reason", async () => {
    const known = await makePerson(app);
    const locked = await makePerson(app);
    await lock(app, locked.id);
    const without = await app.makeUser();
    const oddDigest = await app.makeUser({ password_digest: "no digest at all" });
    const blocked = await makePerson(app, { state: "blocked" });
    const bot = await makePerson(app, { user_type: "project_bot" });
    const serviceAccount = await makePerson(app, { user_type: "service_account" });
    const leaving = await makePerson(app, { removal_began_at: new Date().toISOString() });
    const replies = [
      await tryToSignIn(app, "nobody-of-that-name", PASSWORD),
      await tryToSignIn(app, known.username, OTHER_PASSWORD),
      await tryToSignIn(app, locked.username, PASSWORD),
      await tryToSignIn(app, locked.username, OTHER_PASSWORD),
      await tryToSignIn(app, without.username, PASSWORD),
      await tryToSignIn(app, oddDigest.username, PASSWORD),
      await tryToSignIn(app, blocked.username, OTHER_PASSWORD),
      await tryToSignIn(app, bot.username, PASSWORD),
      await tryToSignIn(app, serviceAccount.username, PASSWORD),
      await tryToSignIn(app, leaving.username, PASSWORD),
    ];
    const shown = replies.map(({ status, headers, text }) => {
      const { date: _, "x-request-id": __, ...others } = headers;
      return { status, others, text };
    });
    assert.equal(shown[0]?.status, 401);
    assert.deepEqual(JSON.parse(shown[0].text), WRONG);
    for (const one of shown) assert.deepEqual(one, shown[0]);
  });

  test("the reason is shown only with the correct password", async () => {
    for (const [columns, reason] of [
      [{ state: "blocked" }, "Your account has been blocked."],
      [{ state: "ldap_blocked" }, "Your account has been blocked."],
      [{ state: "banned" }, "Your account has been blocked."],
      [{ state: "blocked_pending_approval" }, "Your account is pending approval"],
      [{ state: "deactivated" }, "Your account has been deactivated"],
      [{ confirmed_at: null }, "Your primary email address is not confirmed."],
    ] as const) {
      const person = await makePerson(app, columns);
      const { status, body, headers } = await tryToSignIn(app, person.username, PASSWORD);
      assert.equal(status, 403, reason);
      assert.ok(body.message.startsWith(`403 Forbidden - ${reason}`), body.message);
      assert.equal(headers["set-cookie"], undefined);
      assert.deepEqual((await tryToSignIn(app, person.username, OTHER_PASSWORD)).body, WRONG);
      assert.equal((await userRow(app, person.id)).failed_attempts, 1, "only the wrong one counts");
    }
  });

  test("records the time and the address", async () => {
    const person = await makePerson(app);
    await tryToSignIn(app, person.username, PASSWORD, { remoteAddress: "203.0.113.1" });
    const first = await userRow(app, person.id);
    assert.equal(first.sign_in_count, 1);
    assert.equal(first.current_sign_in_ip, "203.0.113.1");
    assert.equal(first.last_sign_in_at, null);
    assert.equal(first.last_activity_on, new Date().toISOString().slice(0, 10));
    await tryToSignIn(app, person.username, PASSWORD, { remoteAddress: "203.0.113.2" });
    const second = await userRow(app, person.id);
    assert.equal(second.sign_in_count, 2);
    assert.equal(second.current_sign_in_ip, "203.0.113.2");
    assert.equal(second.last_sign_in_ip, "203.0.113.1");
    assert.equal(second.last_sign_in_at, first.current_sign_in_at);
    await tryToSignIn(app, person.username, OTHER_PASSWORD);
    assert.equal((await userRow(app, person.id)).sign_in_count, 2);
    assert.deepEqual(await eventsOf(app, person.id), ["user_signed_in", "user_signed_in", "user_sign_in_failed"]);
  });

  test("an unknown login is audited without its text, which may be a mistyped password", async () => {
    const { headers } = await tryToSignIn(app, "My-Password-In-The-Wrong-Field", "x");
    const rows = await app.services.db.write
      .selectFrom("audit_events")
      .selectAll()
      .where("request_id", "=", headers["x-request-id"] ?? "")
      .execute();
    assert.deepEqual(
      rows.map(({ event, target_id }) => [event, target_id]),
      [["user_sign_in_failed", null]],
    );
    assert.ok(!JSON.stringify(rows).includes("Wrong-Field"));
    assert.ok(!app.logged.join("").includes("Wrong-Field"));
  });

  test("a new browser or address is reported by mail, except for the first sign-in", async () => {
    const person = await makePerson(app);
    const from = async (remoteAddress: string, agent: string) => {
      const headers = { "user-agent": agent };
      assert.equal((await tryToSignIn(app, person.username, PASSWORD, { remoteAddress, headers })).status, 201);
      return (await mailsTo(app, person.id)).length;
    };
    assert.equal(await from("203.0.113.1", "Firefox"), 0);
    assert.equal(await from("203.0.113.1", "Firefox"), 0);
    assert.equal(await from("203.0.113.1", "Chrome"), 1);
    assert.equal(await from("203.0.113.2", "Firefox"), 2);
    assert.equal(await from("203.0.113.2", "Firefox"), 2);
    assert.equal(await from("203.0.113.2", "x".repeat(400)), 3);
    assert.equal(await from("203.0.113.2", "x".repeat(400)), 3, "of a long name the beginning is kept");
    assert.deepEqual(new Set(await mailsTo(app, person.id)), new Set(["new_sign_in"]));
  });

  test("a browser that signed out is recognised at the next sign-in", async () => {
    const person = await makePerson(app);
    const { headers } = await signIn(app, person);
    assert.equal((await app.delete("/session", { headers })).status, 204);
    await signIn(app, person);
    assert.deepEqual(await mailsTo(app, person.id), []);
  });

  test("an expired password is replaced while signing in", async () => {
    const person = await makePerson(app, { password_expired: true });
    const enter = (new_password?: string) =>
      tryToSignIn(app, person.username, PASSWORD, { more: { ...(new_password !== undefined && { new_password }) } });
    const asked = await enter();
    assert.equal(asked.status, 403);
    assert.deepEqual(asked.body, { message: "403 Forbidden - Your password expired: send new_password" });
    for (const [poor, problem] of [
      ["short", /too short/],
      ["", /too short/],
      [`${person.username}-123`, /commonly used/],
      [PASSWORD, /the one that expired/],
    ] as const) {
      const { status, body } = await enter(poor);
      assert.equal(status, 400, poor);
      assert.match(body.message.password.join(), problem);
    }
    assert.equal((await userRow(app, person.id)).failed_attempts, 0);
    assert.equal((await enter(OTHER_PASSWORD)).status, 201);
    assert.equal((await userRow(app, person.id)).password_expired, false);
    assert.equal((await tryToSignIn(app, person.username, PASSWORD)).status, 401);
    assert.equal((await tryToSignIn(app, person.username, OTHER_PASSWORD)).status, 201);
    assert.deepEqual(await mailsTo(app, person.id), ["password_changed"]);
    const ignored = await tryToSignIn(app, person.username, OTHER_PASSWORD, { more: { new_password: PASSWORD } });
    assert.equal(ignored.status, 201);
    assert.equal((await tryToSignIn(app, person.username, PASSWORD)).status, 401, "only an expired one is replaced");
  });

  test("a digest of a lower cost is replaced", async () => {
    const nonce = Buffer.alloc(16, 7);
    const cost = { parallelism: 1, tagLength: 32, memory: 64, passes: 1 };
    const text = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");
    const tag = argon2Sync("argon2id", { message: PASSWORD, nonce, ...cost });
    const password_digest = `$argon2id$v=19$m=64,t=1,p=1$${text(nonce)}$${text(tag)}`;
    const person = await makePerson(app, { password_digest });
    await signIn(app, person);
    const { password_digest: renewed } = await userRow(app, person.id);
    assert.match(renewed ?? "", /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    await signIn(app, person);
    assert.equal((await userRow(app, person.id)).password_digest, renewed);
  });

  test("requires a login and a password, as strings", async () => {
    for (const [payload, error] of [
      [{}, "login is missing, password is missing"],
      [{ login: "", password: "x" }, "login is empty"],
      [{ login: ["x"], password: "x" }, "login is invalid"],
      [{ login: "x", password: { a: 1 } }, "password is invalid"],
    ] as const) {
      const { status, body } = await app.post("/session", { payload });
      assert.equal(status, 400);
      assert.equal(body.error, error);
    }
  });
});
