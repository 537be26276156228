import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { boundedPasswords } from "#lib/passwords.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { cpuTimeOf } from "#test/support/cpu.ts";
import {
  eventsOf,
  mailsTo,
  makePerson,
  OTHER_PASSWORD,
  PASSWORD,
  signIn,
  tryToSignIn,
  userRow,
} from "./test-support.ts";

describe("lock-out", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
  });
  after(() => app.close());

  const fail = async (login: string, times: number) => {
    for (let n = 0; n < times; n++) assert.equal((await tryToSignIn(app, login, OTHER_PASSWORD)).status, 401);
  };
  const isLocked = async (id: number) => {
    const admin = await app.makeUser({ admin: true });
    return (await app.get(`/users/${id}`, { token: admin.token })).body.locked;
  };
  const endLock = (id: number) =>
    app.services.db.write
      .updateTable("users")
      .set({ locked_until: sql<string>`now() - interval '1 second'` })
      .where("id", "=", id)
      .execute();

  test("ten wrong passwords lock an account for ten minutes, even for the correct one", async () => {
    const person = await makePerson(app);
    await fail(person.username, 9);
    assert.equal(await isLocked(person.id), false);
    await fail(person.email.toUpperCase(), 1);
    assert.equal(await isLocked(person.id), true);
    const { locked_until } = await userRow(app, person.id);
    assert.ok(Math.abs(Date.parse(locked_until ?? "") - Date.now() - 600_000) < 30_000);
    assert.equal((await tryToSignIn(app, person.username, PASSWORD)).status, 401);
    await fail(person.username, 1);
    assert.equal((await userRow(app, person.id)).locked_until, locked_until, "trying on does not make it longer");
    assert.deepEqual(await mailsTo(app, person.id), ["account_locked"]);
    const events = await eventsOf(app, person.id);
    assert.equal(events.filter((event) => event === "user_locked").length, 1);
    assert.equal(events.filter((event) => event === "user_sign_in_failed").length, 12);
    assert.equal((await app.get("/user", { token: person.token })).status, 200, "tokens go on");

    await endLock(person.id);
    assert.equal(await isLocked(person.id), false);
    await fail(person.username, 1);
    assert.equal((await userRow(app, person.id)).failed_attempts, 1, "the count begins anew");
    await signIn(app, person);
    const { failed_attempts, locked_until: after } = await userRow(app, person.id);
    assert.deepEqual([failed_attempts, after], [0, null]);
  });

  test("an administrator sees until when and why an account is locked, and unlocks it", async () => {
    const person = await makePerson(app);
    const { token } = await app.makeUser({ admin: true });
    const seen = async () => {
      const { locked, locked_until, lock_reason, failed_attempts } = (await app.get(`/users/${person.id}`, { token }))
        .body;
      return { locked, locked_until, lock_reason, failed_attempts };
    };
    const unlock = () => app.post(`/users/${person.id}/unlock`, { token });
    await fail(person.username, 3);
    const open = { locked: false, locked_until: null, lock_reason: null };
    assert.deepEqual(await seen(), { ...open, failed_attempts: 3 });
    await fail(person.username, 7);
    const { locked_until } = await userRow(app, person.id);
    const locked = { locked: true, lock_reason: "too_many_failed_attempts" };
    assert.deepEqual(await seen(), { ...locked, locked_until, failed_attempts: 10 });

    const { status, body, headers } = await unlock();
    assert.deepEqual([status, body], [201, true]);
    assert.deepEqual(await seen(), { ...open, failed_attempts: 0 });
    const event = await app.services.db.read
      .selectFrom("audit_events")
      .select(["event", "target_id", "details"])
      .where("request_id", "=", headers["x-request-id"] ?? "")
      .executeTakeFirstOrThrow();
    const details = { locked_until, failed_attempts: 10 };
    assert.deepEqual(event, { event: "user_unlocked", target_id: person.id, details });
    await fail(person.username, 9);
    await signIn(app, person);
    assert.deepEqual([(await unlock()).status, (await unlock()).body], [201, true], "not locked is no problem");

    await fail(person.username, 10);
    await endLock(person.id);
    assert.deepEqual(await seen(), { ...open, failed_attempts: 0 }, "a lock that is over counts for nothing");
  });

  test("a correct password in between resets the count", async () => {
    const person = await makePerson(app);
    await fail(person.username, 9);
    await signIn(app, person);
    await fail(person.username, 9);
    assert.equal(await isLocked(person.id), false);
    await signIn(app, person);
  });

  test("of fifty concurrent guesses to two processes ten are verified", async () => {
    const other = await testApp();
    try {
      const person = await makePerson(app);
      let looked = 0;
      for (const { services } of [app, other]) {
        const { verify } = services.passwords;
        const counting: typeof verify = (password, digest) => {
          if (digest !== null) looked++;
          return verify(password, digest);
        };
        Object.assign(services.passwords, { verify: counting });
      }
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, n) => tryToSignIn(n % 2 === 0 ? app : other, person.username, `Guess-${n}`)),
      );
      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([401]));
      assert.equal(looked, 10);
      assert.equal(await isLocked(person.id), true);
      assert.deepEqual(await mailsTo(app, person.id), ["account_locked"]);
      assert.equal((await eventsOf(app, person.id)).filter((event) => event === "user_locked").length, 1);
    } finally {
      await other.close();
    }
  });

  test("an attempt that is refused for lack of capacity does not count", async () => {
    const busy = await testApp();
    try {
      Object.assign(busy.services.passwords, boundedPasswords(1));
      const person = await makePerson(busy);
      const filling = Array.from({ length: 51 }, () => busy.services.passwords.verify("x", null));
      const { status, headers } = await tryToSignIn(busy, person.username, PASSWORD);
      assert.equal(status, 503);
      assert.ok(Number(headers["retry-after"]) > 0);
      assert.equal((await userRow(busy, person.id)).failed_attempts, 0);
      await Promise.all(filling);
    } finally {
      await busy.close();
    }
  });

  test("wrong current passwords and wrong passwords at sign-in share one count", async () => {
    const person = await makePerson(app);
    const change = (current_password: string) =>
      app.put("/user/password", { token: person.token, payload: { current_password, password: OTHER_PASSWORD } });
    await fail(person.username, 5);
    for (let n = 0; n < 4; n++) {
      const { status, body } = await change("wrong");
      assert.equal(status, 400);
      assert.deepEqual(body, { message: { current_password: ["is invalid"] } });
    }
    const right = { token: person.token, payload: { current_password: PASSWORD } };
    assert.equal((await app.post("/user/two_factor", right)).status, 201);
    assert.equal((await userRow(app, person.id)).failed_attempts, 9, "a correct one does not lower the count");
    assert.equal((await change("wrong")).status, 400);
    const refused = await change(PASSWORD);
    assert.equal(refused.status, 403);
    assert.match(refused.body.message, /locked for ten minutes/);
    assert.equal((await tryToSignIn(app, person.username, PASSWORD)).status, 401);
    assert.deepEqual(await mailsTo(app, person.id), ["account_locked"]);
  });

  test("the response time is the same for an unknown, locked or passwordless account", async () => {
    const known = await makePerson(app);
    const locked = await makePerson(app, { locked_until: new Date(Date.now() + 600_000).toISOString() });
    const without = await app.makeUser();
    const logins = [known.username, "nobody-of-that-name", locked.username, without.username];
    const times = logins.map(() => [] as number[]);
    const rounds = 15;
    for (let round = 0; round < rounds; round++) {
      // Ten wrong passwords in a row would lock it.
      await app.services.db.write.updateTable("users").set({ failed_attempts: 0 }).where("id", "=", known.id).execute();
      for (const [index, login] of logins.entries()) {
        const spent = await cpuTimeOf(async () =>
          assert.equal((await tryToSignIn(app, login, OTHER_PASSWORD)).status, 401),
        );
        times[index]?.push(spent);
      }
    }
    // Almost all of the time is that of the hash; the least is the one with the least garbage to collect.
    const [first = 0, ...others] = times.map((values) => Math.min(...values));
    for (const [index, other] of others.entries()) {
      const ratio = other / first;
      // Without the dummy hash the ratio would be a fifth.
      assert.ok(ratio > 0.6 && ratio < 1.6, `${logins[index + 1]}: ${other} ms against ${first} ms`);
    }
  });
});
