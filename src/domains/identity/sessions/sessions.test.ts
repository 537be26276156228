import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { runWorker } from "#jobs/worker.ts";
import { findLink, startLink } from "#domains/foundation/mails/links.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import { endSessions } from "#domains/identity/credentials/actions.ts";
import { removeEndedSessions } from "./jobs.ts";
import {
  type Browser,
  browserOf,
  eventsOf,
  mailsTo,
  makePerson,
  OTHER_PASSWORD,
  PASSWORD,
  signIn,
} from "./test-support.ts";

describe("sessions", () => {
  let app: TestApp;
  /** Another process on the same database. */
  let other: TestApp;
  before(async () => {
    app = await testApp();
    other = await testApp();
  });
  after(async () => {
    await other.close();
    await app.close();
  });

  const statusIn = async (where: TestApp, { headers }: Browser) => (await where.get("/user", { headers })).status;
  const age = (userId: number, columns: { last_seen_at?: string; ends_at?: string }) =>
    app.services.db.write
      .updateTable("sessions")
      .set(Object.fromEntries(Object.entries(columns).map(([name, ago]) => [name, sql`now() - ${ago}::interval`])))
      .where("user_id", "=", userId)
      .execute();
  const rowsOf = (userId: number) =>
    app.services.db.write.selectFrom("sessions").selectAll().where("user_id", "=", userId).orderBy("id").execute();

  test("a session may do all that its account may, without scopes and without sudo", async () => {
    const admin = await makePerson(app, { admin: true });
    const { headers } = await signIn(app, admin);
    assert.equal((await app.get("/application/settings", { headers })).status, 200);
    const payload = { name: "by session", scopes: ["api"] };
    assert.equal((await app.post(`/users/${admin.id}/personal_access_tokens`, { headers, payload })).status, 201);
    assert.equal((await app.get("/personal_access_tokens/self", { headers })).status, 400);
    for (const sudo of [{ sudo: admin.username }, { sudo: "1" }]) {
      const { status, body } = await app.get("/user", { headers: { ...headers, ...sudo } });
      assert.equal(status, 403);
      assert.match(body.message, /sudo/);
    }
    const logged = JSON.parse(app.logged.at(-1) ?? "{}");
    assert.equal(logged.session_id, undefined, "a refused caller is nobody");
    await app.get("/user", { headers });
    const [row] = await rowsOf(admin.id);
    assert.equal(JSON.parse(app.logged.at(-1) ?? "{}").session_id, row?.id);
  });

  test("a token in the same request takes precedence", async () => {
    const person = await makePerson(app);
    const someone = await app.makeUser();
    const { headers } = await signIn(app, person);
    assert.equal((await app.get("/user", { headers, token: someone.token })).body.id, someone.id);
    assert.equal((await app.get("/user", { headers, token: "flpat-unknown" })).status, 401);
    const forged = { cookie: headers["cookie"] ?? "", "sec-fetch-site": "cross-site" };
    const payload = { name: "x", scopes: ["self_rotate"] };
    const made = await app.post("/user/personal_access_tokens", { headers: forged, token: someone.token, payload });
    assert.equal(made.status, 201, "a cookie beside a token changes nothing");
  });

  test("ends after 12 hours without use and after 7 days, by the database's clock", async () => {
    const person = await makePerson(app);
    const browser = await signIn(app, person);
    await age(person.id, { last_seen_at: "11 hours 59 minutes" });
    assert.equal(await statusIn(app, browser), 200);
    await age(person.id, { last_seen_at: "12 hours 1 second" });
    assert.equal(await statusIn(app, browser), 401);
    assert.equal((await app.get("/users", { headers: browser.headers })).status, 401, "where anyone may call too");
    await age(person.id, { last_seen_at: "0" });
    assert.equal(await statusIn(app, browser), 200);
    await age(person.id, { ends_at: "1 second" });
    assert.equal(await statusIn(app, browser), 401);
  });

  test("its use is recorded at most every ten minutes", async () => {
    const person = await makePerson(app);
    const browser = await signIn(app, person);
    const seen = async () => (await rowsOf(person.id))[0]?.last_seen_at;
    await age(person.id, { last_seen_at: "9 minutes" });
    const nine = await seen();
    await statusIn(app, browser);
    await new Promise((resolve) => setTimeout(resolve, 1200));
    assert.equal(await seen(), nine);
    await age(person.id, { last_seen_at: "11 minutes" });
    await statusIn(app, browser);
    await until("the use is written down", async () => Date.parse((await seen()) ?? "") > Date.parse(nine ?? ""));
  });

  test("lists one's own active sessions, newest first, and marks the current one", async () => {
    const person = await makePerson(app);
    const one = await signIn(app, person);
    const two = await signIn(app, person);
    await signIn(app, await makePerson(app));
    const { status, body, headers } = await app.get("/user/sessions", { headers: two.headers });
    assert.equal(status, 200);
    assert.equal(headers["x-total"], "2");
    assert.deepEqual(
      body.map((session: { current: boolean; ip_address: string; user_agent: string }) => [
        session.current,
        session.ip_address,
        session.user_agent,
      ]),
      [
        [true, "127.0.0.1", "lightMyRequest"],
        [false, "127.0.0.1", "lightMyRequest"],
      ],
    );
    assert.deepEqual(Object.keys(body[0]), ["id", "created_at", "last_seen_at", "ip_address", "user_agent", "current"]);
    const byToken = await app.get("/user/sessions", { token: person.token });
    assert.deepEqual(
      byToken.body.map(({ current }: { current: boolean }) => current),
      [false, false],
    );
    assert.equal((await app.delete("/session", { headers: one.headers })).status, 204);
    assert.equal((await app.get("/user/sessions", { headers: two.headers })).body.length, 1);
  });

  test("ends by signing out, which clears the cookie", async () => {
    const person = await makePerson(app);
    const [here, elsewhere] = [await signIn(app, person), await signIn(app, person)];
    const { status, headers } = await app.delete("/session", { headers: here.headers });
    assert.equal(status, 204);
    assert.equal(headers["set-cookie"], "fairlead_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
    for (const process of [app, other]) {
      assert.equal(await statusIn(process, here), 401);
      assert.equal(await statusIn(process, elsewhere), 200);
    }
    assert.equal((await app.delete("/session", { headers: here.headers })).status, 401);
    const byToken = await app.delete("/session", { token: person.token });
    assert.equal(byToken.status, 400);
    assert.equal((await app.delete("/session")).status, 401);
    assert.equal(await statusIn(app, elsewhere), 200);
    assert.equal((await eventsOf(app, person.id)).at(-1), "user_signed_out");
  });

  test("a session can be ended only by its user, from another browser or with a token", async () => {
    const person = await makePerson(app);
    const admin = await makePerson(app, { admin: true });
    const [here, there] = [await signIn(app, person), await signIn(app, person)];
    const [first] = await rowsOf(person.id);
    for (const caller of [{ headers: (await signIn(app, admin)).headers }, { token: admin.token }]) {
      const foreign = await app.delete(`/user/sessions/${first?.id}`, caller);
      const missing = await app.delete("/user/sessions/999999999", caller);
      assert.equal(foreign.status, 404);
      assert.equal(foreign.text, missing.text);
    }
    assert.equal((await app.delete(`/user/sessions/${first?.id}`, { headers: there.headers })).status, 204);
    assert.equal((await app.delete(`/user/sessions/${first?.id}`, { headers: there.headers })).status, 404);
    for (const process of [app, other]) {
      assert.equal(await statusIn(process, here), 401);
      assert.equal(await statusIn(process, there), 200);
    }
  });

  test("all other sessions can be ended together", async () => {
    const person = await makePerson(app);
    const [one, two, three] = [await signIn(app, person), await signIn(app, person), await signIn(app, person)];
    const stranger = await signIn(app, await makePerson(app));
    assert.equal((await app.delete("/user/sessions", { headers: two.headers })).status, 204);
    assert.deepEqual(
      await Promise.all([one, two, three, stranger].map((browser) => statusIn(other, browser))),
      [401, 200, 401, 200],
    );
    assert.equal((await app.delete("/user/sessions", { token: person.token })).status, 204);
    assert.equal(await statusIn(other, two), 401);
  });

  test("changing the password ends other sessions, renews this one, and sends a mail", async () => {
    const person = await makePerson(app);
    const [here, there] = [await signIn(app, person), await signIn(app, person)];
    const { db } = app.services;
    const link = { purpose: "reset", user_id: person.id, email: person.email } as const;
    await db.transaction((tx) => startLink(tx, "a mailed secret", link));
    const payload = { current_password: PASSWORD, password: OTHER_PASSWORD };
    const changed = await app.put("/user/password", { headers: here.headers, payload });
    assert.equal(changed.status, 204, changed.text);
    const renewed = browserOf(changed);
    assert.notEqual(renewed.secret, here.secret);
    for (const process of [app, other]) {
      assert.equal(await statusIn(process, there), 401);
      assert.equal(await statusIn(process, here), 401, "a copy of the old secret is worth nothing");
      assert.equal(await statusIn(process, renewed), 200);
    }
    assert.equal(await findLink(db.read, ["reset"], "a mailed secret"), undefined);
    assert.deepEqual(await mailsTo(app, person.id), ["password_changed"]);
    assert.equal((await eventsOf(app, person.id)).at(-1), "user_password_changed");
    await signIn(app, { ...person, password: OTHER_PASSWORD });
    assert.equal((await app.post("/session", { payload: { login: person.username, password: PASSWORD } })).status, 401);
  });

  test("a password can be changed with a token, but not to a weak one, and not by users without one", async () => {
    const person = await makePerson(app);
    const browser = await signIn(app, person);
    const put = (token: string, current_password: string, password: string) =>
      app.put("/user/password", { token, payload: { current_password, password } });
    const poor = await put(person.token, PASSWORD, "short");
    assert.equal(poor.status, 400);
    assert.match(poor.body.message.password.join(), /too short/);
    assert.equal((await put(person.token, OTHER_PASSWORD, OTHER_PASSWORD)).status, 400);
    assert.equal(await statusIn(app, browser), 200);
    const changed = await put(person.token, PASSWORD, OTHER_PASSWORD);
    assert.equal(changed.status, 204);
    assert.equal(changed.headers["set-cookie"], undefined);
    assert.equal(await statusIn(app, browser), 401);
    const without = await app.makeUser();
    assert.equal((await put(without.token, PASSWORD, OTHER_PASSWORD)).status, 400);
    const bot = await makePerson(app, { user_type: "service_account" });
    assert.equal((await put(bot.token, PASSWORD, OTHER_PASSWORD)).status, 403);
    const reader = await app.makeUser({}, ["read_api"]);
    assert.equal((await put(reader.token, PASSWORD, OTHER_PASSWORD)).status, 403);
  });

  test("of two concurrent changes one succeeds", async () => {
    const person = await makePerson(app);
    const replies = await Promise.all(
      [app, other].map((process, n) =>
        process.put("/user/password", {
          token: person.token,
          payload: { current_password: PASSWORD, password: `${OTHER_PASSWORD}-${n}` },
        }),
      ),
    );
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([204, 409]));
    const won = replies.findIndex(({ status }) => status === 204);
    await signIn(app, { ...person, password: `${OTHER_PASSWORD}-${won}` });
  });

  test("a user who is blocked, unconfirmed or has an expired password is refused by every process at once", async () => {
    for (const columns of [
      { state: "blocked" },
      { state: "deactivated" },
      { confirmed_at: null },
      { password_expired: true },
    ] as const) {
      const person = await makePerson(app);
      const browser = await signIn(app, person);
      assert.equal(await statusIn(other, browser), 200);
      await app.services.db.write.updateTable("users").set(columns).where("id", "=", person.id).execute();
      for (const process of [app, other]) assert.equal(await statusIn(process, browser), 403);
    }
    const admin = await app.makeUser({ admin: true });
    const person = await makePerson(app);
    const browser = await signIn(app, person);
    assert.equal((await app.post(`/users/${person.id}/block`, { token: admin.token })).status, 201);
    for (const process of [app, other]) assert.equal(await statusIn(process, browser), 401);
    assert.equal((await app.post(`/users/${person.id}/unblock`, { token: admin.token })).status, 201);
    assert.equal(await statusIn(other, browser), 401, "what ended stays so");
  });

  test("ending them returns how many were active", async () => {
    const person = await makePerson(app);
    const [first] = [await signIn(app, person), await signIn(app, person), await signIn(app, person)];
    await app.delete("/session", { headers: first.headers });
    const [, second] = await rowsOf(person.id);
    const end = (except?: number) => app.services.db.transaction((tx) => endSessions(tx, person.id, except));
    assert.equal(await end(second?.id), 1);
    assert.equal(await end(), 1);
    assert.equal(await end(), 0);
  });

  test("the rows of those that ended a month ago are removed", async () => {
    const [gone, kept] = [await makePerson(app), await makePerson(app)];
    for (const person of [gone, kept]) await signIn(app, person);
    await age(gone.id, { ends_at: "31 days" });
    await age(kept.id, { ends_at: "29 days" });
    await app.services.db.transaction((tx) => app.services.jobs.add(tx, removeEndedSessions, {}));
    const worker = await runWorker(app.services, [removeEndedSessions], { queues: ["default"] });
    try {
      await until("the row is gone", async () => (await rowsOf(gone.id)).length === 0);
    } finally {
      await worker.stop();
    }
    assert.equal((await rowsOf(kept.id)).length, 1);
  });
});
