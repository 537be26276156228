import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { boundedPasswords } from "#lib/passwords.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import {
  eventsOf,
  lock,
  mailsTo,
  makePerson,
  type Person,
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

  const fail = async (login: string, times: number, remoteAddress = "127.0.0.1") => {
    for (let n = 0; n < times; n++) {
      assert.equal((await tryToSignIn(app, login, OTHER_PASSWORD, { remoteAddress })).status, 401);
    }
  };
  const isLocked = async (id: number) => {
    const admin = await app.makeUser({ admin: true });
    return (await app.get(`/users/${id}`, { token: admin.token })).body.locked;
  };
  const endLock = async (id: number) => {
    const { write } = app.services.db;
    const locked_until = sql<string>`case when locked_until is not null then now() - interval '1 second' end`;
    await write.updateTable("users").set({ locked_until }).where("id", "=", id).execute();
    await write.updateTable("sign_in_attempts").set({ locked_until }).where("user_id", "=", id).execute();
  };
  const changePassword = (person: Person, current_password: string, password = OTHER_PASSWORD) =>
    app.put("/user/password", { token: person.token, payload: { current_password, password } });

  test("ten wrong passwords lock an account for ten minutes, even for the correct one", async () => {
    const person = await makePerson(app);
    await fail(person.username, 9);
    assert.equal(await isLocked(person.id), false);
    const began = Date.now();
    await fail(person.email.toUpperCase(), 1);
    assert.equal(await isLocked(person.id), true);
    const { locked_until } = await userRow(app, person.id);
    const lockedAt = Date.parse(locked_until ?? "") - 600_000;
    assert.ok(began <= lockedAt && lockedAt <= Date.now(), `${locked_until}`);
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

  test("wrong passwords from one network lock nobody out elsewhere", async () => {
    const person = await makePerson(app);
    await fail(person.username, 10, "198.51.100.7");
    const from = (remoteAddress: string) => tryToSignIn(app, person.username, PASSWORD, { remoteAddress });
    assert.equal((await from("198.51.100.7")).status, 401);
    assert.equal((await from("192.0.2.1")).status, 201);
    assert.equal((await from("198.51.100.7")).status, 401, "the owner's success does not end the lock there");
    assert.equal((await changePassword(person, PASSWORD)).status, 204);
  });

  test("a hundred from many networks lock the account for all but those who are signed in", async () => {
    const person = await makePerson(app);
    await fail(person.username, 1, "198.51.100.1");
    await app.services.db.write
      .updateTable("sign_in_attempts")
      .set({ failed: 99 })
      .where("user_id", "=", person.id)
      .where("source", "=", "")
      .execute();
    await fail(person.username, 1, "198.51.100.2");
    assert.equal(await isLocked(person.id), true);
    assert.equal((await tryToSignIn(app, person.username, PASSWORD, { remoteAddress: "192.0.2.1" })).status, 401);
    assert.deepEqual(await mailsTo(app, person.id), ["account_locked"]);
    assert.equal((await changePassword(person, PASSWORD)).status, 204);
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
      const person = await makePerson(busy);
      const { verify } = boundedPasswords(1);
      const filling: ReturnType<typeof verify>[] = [];
      const verifyAfterOthers: typeof verify = (password, digest) => {
        for (let n = 0; n < 51; n++) filling.push(verify("x", null));
        return verify(password, digest);
      };
      Object.assign(busy.services.passwords, { verify: verifyAfterOthers });
      const { status, headers } = await tryToSignIn(busy, person.username, PASSWORD);
      assert.equal(status, 503);
      assert.ok(Number(headers["retry-after"]) > 0);
      assert.equal((await userRow(busy, person.id)).failed_attempts, 0);
      await Promise.all(filling);
    } finally {
      await busy.close();
    }
  });

  test("wrong current passwords have a count of their own", async () => {
    const person = await makePerson(app);
    await fail(person.username, 9);
    for (let n = 0; n < 9; n++) {
      const { status, body } = await changePassword(person, "wrong");
      assert.deepEqual([status, body], [400, { message: { current_password: ["is invalid"] } }]);
    }
    const right = { token: person.token, payload: { current_password: PASSWORD } };
    assert.equal((await app.post("/user/two_factor", right)).status, 201);
    assert.equal((await userRow(app, person.id)).failed_attempts, 9, "a correct one does not lower the count");
    assert.equal((await changePassword(person, "wrong")).status, 400);
    const refused = await changePassword(person, PASSWORD);
    assert.equal(refused.status, 403);
    assert.match(refused.body.message, /locked for ten minutes/);
    assert.deepEqual(await mailsTo(app, person.id), ["account_locked"]);
    await signIn(app, person);
  });

  test("an unknown, locked or passwordless account is refused after one hash, as a known one", async (t) => {
    const known = await makePerson(app);
    const locked = await makePerson(app);
    await lock(app, locked.id);
    const without = await app.makeUser();
    const { mock } = t.mock.method(app.services.passwords, "verify");
    for (const login of [known.username, "nobody-of-that-name", locked.username, without.username]) {
      assert.equal((await tryToSignIn(app, login, OTHER_PASSWORD)).status, 401);
      assert.equal(mock.callCount(), 1, login);
      mock.resetCalls();
    }
  });
});
