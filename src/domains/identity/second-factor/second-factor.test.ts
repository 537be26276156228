import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { totpCode } from "#lib/totp.ts";
import {
  browserOf,
  eventsOf,
  makePerson,
  OTHER_PASSWORD,
  PASSWORD,
  type Person,
  signIn,
  tryToSignIn,
  userRow,
} from "#domains/identity/sessions/test-support.ts";
import { type Call, type TestApp, testApp } from "#test/support/app.ts";
import { removeSecondFactor } from "./actions.ts";
import { useCode } from "#domains/identity/credentials/codes.ts";

const WRONG = { message: "401 Unauthorized - Invalid login or password." };

describe("second factor", () => {
  let app: TestApp;
  let other: TestApp;
  before(async () => {
    app = await testApp();
    // The key that secrets are sealed with is shared, as processes of one installation share it.
    other = await testApp({ env: { FAIRLEAD_DATA_DIR: app.services.config.dataDir } });
  });
  after(async () => {
    await other.close();
    await app.close();
  });

  /** The current step; waits if it is about to end. */
  async function currentStep(): Promise<number> {
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from clock_timestamp())::float8 as seconds`.execute(app.services.db.write);
    const seconds = rows[0]?.seconds ?? 0;
    const left = 30 - (seconds % 30);
    if (left < 10) {
      await sleep((left + 0.1) * 1000);
      return currentStep();
    }
    return Math.floor(seconds / 30);
  }
  /** The code of the step this many steps from now. */
  const codeOf = async (secret: string, steps = 0) => totpCode(secret, (await currentStep()) + steps);

  const begin = (call: Call, current_password = PASSWORD) =>
    app.post("/user/two_factor", { ...call, payload: { current_password } });
  const confirm = (call: Call, code: string) => app.put("/user/two_factor", { ...call, payload: { code } });
  const disable = (call: Call, code: string) => app.delete("/user/two_factor", { ...call, payload: { code } });

  /** A user with a second factor; the last used code is that of the step before `step`. */
  async function makeUserWithSecondFactor(): Promise<Person & { secret: string; recovery: string[]; step: number }> {
    const person = await makePerson(app);
    const { secret } = (await begin(person)).body;
    const step = await currentStep();
    const { status, body, text } = await confirm(person, totpCode(secret, step - 1));
    assert.equal(status, 200, text);
    return { ...person, secret, recovery: body.recovery_codes, step };
  }
  const enter = (person: Person, otp_attempt?: string) =>
    tryToSignIn(app, person.username, PASSWORD, { more: { ...(otp_attempt !== undefined && { otp_attempt }) } });

  test("is begun with the password, confirmed by a code, and then shown as enabled", async () => {
    const person = await makePerson(app);
    assert.deepEqual((await app.get("/user/two_factor", person)).body, { enabled: false, recovery_codes_left: 0 });
    const refused = await begin(person, OTHER_PASSWORD);
    assert.equal(refused.status, 400);
    assert.deepEqual(refused.body, { message: { current_password: ["is invalid"] } });
    assert.equal((await confirm(person, "123456")).status, 400, "there is nothing to confirm");

    const { status, body } = await begin(person);
    assert.equal(status, 201);
    assert.match(body.secret, /^[A-Z2-7]{32}$/);
    const uri = new URL(body.uri);
    assert.equal(decodeURIComponent(uri.pathname), `/Fairlead:${person.username}@localhost`);
    assert.equal(uri.searchParams.get("secret"), body.secret);
    assert.equal((await userRow(app, person.id)).two_factor_enabled, false, "not before it is confirmed");
    assert.equal((await enter(person)).status, 201);

    const wrong = await confirm(person, await codeOf(body.secret, 5));
    assert.equal(wrong.status, 400);
    assert.deepEqual(wrong.body, { message: { code: ["is invalid"] } });
    const confirmed = await confirm(person, await codeOf(body.secret));
    assert.equal(confirmed.status, 200);
    const codes: string[] = confirmed.body.recovery_codes;
    assert.equal(new Set(codes).size, 10);
    for (const code of codes) assert.match(code, /^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/, "80 bits");
    assert.deepEqual((await app.get("/user/two_factor", person)).body, { enabled: true, recovery_codes_left: 10 });
    assert.equal((await app.get("/user", person)).body.two_factor_enabled, true);
    assert.equal((await begin(person)).status, 409);
    assert.equal((await confirm(person, await codeOf(body.secret, 1))).status, 409);
    const events = await eventsOf(app, person.id);
    assert.deepEqual(
      events.filter((event) => event.startsWith("two_factor")),
      ["two_factor_begun", "two_factor_enabled"],
    );
  });

  test("beginning again replaces an unconfirmed secret", async () => {
    const person = await makePerson(app);
    const first = (await begin(person)).body.secret;
    const second = (await begin(person)).body.secret;
    assert.notEqual(first, second);
    assert.equal((await confirm(person, await codeOf(first))).status, 400);
    assert.equal((await confirm(person, await codeOf(second))).status, 200);
  });

  test("is sealed for its user, and recovery codes are stored as SHA-256; neither is logged", async () => {
    const person = await makeUserWithSecondFactor();
    const { rows } = await sql<{ all: string }>`
      select (select string_agg(encode(sealed_secret, 'escape') || f::text, ' ') from second_factors f)
        || (select string_agg(c::text || encode(digest, 'escape'), ' ') from recovery_codes c)
        || (select coalesce(string_agg(e::text, ' '), '') from audit_events e) as all`.execute(app.services.db.write);
    const kept = `${rows[0]?.all} ${app.logged.join(" ")}`;
    for (const secret of [
      person.secret,
      ...person.recovery,
      ...person.recovery.map((code) => code.replaceAll("-", "")),
    ])
      assert.ok(!kept.includes(secret), secret);
    const stranger = await makeUserWithSecondFactor();
    await sql`update second_factors set sealed_secret = (select sealed_secret from second_factors where user_id = ${person.id})
      where user_id = ${stranger.id}`.execute(app.services.db.write);
    assert.equal((await enter(stranger, await codeOf(person.secret))).status, 500, "in another's row it does not open");
  });

  test("is asked for only after the correct password", async () => {
    const person = await makeUserWithSecondFactor();
    const asked = await enter(person);
    assert.equal(asked.status, 403);
    assert.deepEqual(asked.body, { message: "403 Forbidden - A two-factor code is required: send otp_attempt" });
    assert.equal(asked.headers["set-cookie"], undefined);
    assert.deepEqual((await tryToSignIn(app, person.username, OTHER_PASSWORD)).body, WRONG);
    const code = await codeOf(person.secret);
    const guessed = await tryToSignIn(app, person.username, OTHER_PASSWORD, { more: { otp_attempt: code } });
    assert.deepEqual(guessed.body, WRONG);
    assert.equal((await enter(person, code)).status, 201, "a wrong password has not used the code up");
  });

  test("a wrong code is answered and counted like a wrong password", async () => {
    const person = await makeUserWithSecondFactor();
    for (let n = 0; n < 3; n++) {
      assert.equal((await enter(person)).status, 403, "asking for the code counts nothing");
      for (const wrong of [await codeOf(person.secret, 7), "abcd-abcd-abcd-abcd", ""].slice(n, n + 1)) {
        const { status, body } = await enter(person, wrong);
        if (wrong === "") assert.equal(status, 400);
        else assert.deepEqual([status, body], [401, WRONG]);
      }
    }
    assert.equal((await userRow(app, person.id)).failed_attempts, 2);
    for (let n = 0; n < 8; n++) assert.equal((await enter(person, "000000")).status, 401);
    assert.ok(Date.parse((await userRow(app, person.id)).locked_until ?? "") > Date.now());
    assert.equal((await enter(person, await codeOf(person.secret))).status, 401);
  });

  test("a code works once, up to one step early or late", async () => {
    const person = await makeUserWithSecondFactor();
    const [now, next] = [totpCode(person.secret, person.step), totpCode(person.secret, person.step + 1)];
    const used = totpCode(person.secret, person.step - 1);
    assert.equal((await enter(person, used)).status, 401, "it confirmed the factor");
    assert.equal((await enter(person, `${now.slice(0, 3)} ${now.slice(3)}`)).status, 201);
    assert.equal((await enter(person, now)).status, 401);
    assert.equal((await enter(person, next)).status, 201);
    assert.equal((await enter(person, next)).status, 401);
    assert.equal((await enter(person, await codeOf(person.secret, 2))).status, 401, "too early");
  });

  test("a code works once, even for concurrent requests to two processes", async () => {
    for (const codeFor of [
      ({ secret }: { secret: string }) => codeOf(secret),
      async ({ recovery }: { recovery: string[] }) => recovery[0] ?? "",
    ]) {
      const person = await makeUserWithSecondFactor();
      const otp_attempt = await codeFor(person);
      const replies = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          tryToSignIn(n % 2 === 0 ? app : other, person.username, PASSWORD, { more: { otp_attempt } }),
        ),
      );
      assert.deepEqual(
        replies.map(({ status }) => status).toSorted((a, b) => a - b),
        [201, ...Array.from({ length: 7 }, () => 401)],
      );
    }
  });

  test("a request that waits for another one with the same code is refused", async () => {
    const person = await makeUserWithSecondFactor();
    const { db, sealing } = app.services;
    for (const code of [await codeOf(person.secret), person.recovery[0] ?? ""]) {
      const [used, waited] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const first = db.transaction(async (tx) => {
        const isRight = await useCode(tx, sealing, person.id, code);
        used.resolve();
        await waited.promise;
        return isRight;
      });
      await used.promise;
      const second = db.transaction((tx) => useCode(tx, sealing, person.id, code));
      await sleep(200);
      waited.resolve();
      assert.deepEqual([await first, await second], [true, false]);
    }
  });

  test("a recovery code works once instead, in any case and with or without dashes", async () => {
    const person = await makeUserWithSecondFactor();
    const [first = "", second = ""] = person.recovery;
    assert.equal((await enter(person, first)).status, 201);
    assert.equal((await enter(person, first)).status, 401);
    assert.equal((await enter(person, second.toUpperCase().replaceAll("-", " "))).status, 201);
    assert.equal((await app.get("/user/two_factor", person)).body.recovery_codes_left, 8);
    const stranger = await makeUserWithSecondFactor();
    assert.equal((await enter(stranger, person.recovery[2])).status, 401);
  });

  test("recovery codes are replaced all together, given a code", async () => {
    const person = await makeUserWithSecondFactor();
    const replace = (code: string) => app.post("/user/two_factor/recovery_codes", { ...person, payload: { code } });
    assert.equal((await replace("000000")).status, 400);
    assert.equal((await userRow(app, person.id)).failed_attempts, 1);
    const { status, body } = await replace(await codeOf(person.secret));
    assert.equal(status, 201);
    assert.equal(body.recovery_codes.length, 10);
    assert.equal((await replace(person.recovery[0] ?? "")).status, 400, "the old ones are gone");
    await Promise.all(body.recovery_codes.slice(0, 4).map(replace));
    const left = { enabled: true, recovery_codes_left: 10 };
    assert.deepEqual((await app.get("/user/two_factor", person)).body, left, "however many ask at once");
    const plain = await makePerson(app);
    const none = await app.post("/user/two_factor/recovery_codes", { ...plain, payload: { code: "123456" } });
    assert.equal(none.status, 400);
    assert.equal((await userRow(app, plain.id)).failed_attempts, 0);
  });

  test("enabling it ends other sessions and renews this one", async () => {
    const person = await makePerson(app);
    const [here, there] = [await signIn(app, person), await signIn(app, person)];
    const { secret } = (await begin({ headers: here.headers })).body;
    const confirmed = await confirm({ headers: here.headers }, await codeOf(secret));
    const renewed = browserOf(confirmed);
    for (const process of [app, other]) {
      assert.equal((await process.get("/user", { headers: there.headers })).status, 401);
      assert.equal((await process.get("/user", { headers: here.headers })).status, 401);
      assert.equal((await process.get("/user", { headers: renewed.headers })).status, 200);
    }
  });

  test("is disabled with a code of either kind, which ends other sessions", async () => {
    for (const codeFor of [
      ({ secret }: { secret: string }) => codeOf(secret, 1),
      async ({ recovery }: { recovery: string[] }) => recovery[9] ?? "",
    ]) {
      const person = await makeUserWithSecondFactor();
      const [here, there] = [await enter(person, person.recovery[0]), await enter(person, person.recovery[1])].map(
        browserOf,
      );
      assert.ok(here && there);
      const wrong = await disable({ headers: here.headers }, "000000");
      assert.equal(wrong.status, 400);
      assert.deepEqual(wrong.body, { message: { code: ["is invalid"] } });
      assert.equal((await userRow(app, person.id)).failed_attempts, 1);
      const done = await disable({ headers: here.headers }, await codeFor(person));
      assert.equal(done.status, 204, done.text);
      const renewed = browserOf(done);
      for (const process of [app, other]) {
        assert.equal((await process.get("/user", { headers: there.headers })).status, 401);
        assert.equal((await process.get("/user", { headers: renewed.headers })).status, 200);
      }
      assert.deepEqual((await app.get("/user/two_factor", person)).body, { enabled: false, recovery_codes_left: 0 });
      assert.equal((await enter(person)).status, 201);
      assert.equal((await disable(person, await codeOf(person.secret))).status, 400, "there is none left");
    }
  });

  test("disabling it by an administrator ends every session at once, in every process", async () => {
    const person = await makeUserWithSecondFactor();
    const browser = browserOf(await enter(person, person.recovery[0]));
    assert.equal((await other.get("/user", { headers: browser.headers })).status, 200);
    const admin = await app.makeUser({ admin: true });
    const remove = () => app.call("PATCH", `/users/${person.id}/disable_two_factor`, { token: admin.token });
    assert.equal((await remove()).status, 204);
    for (const process of [app, other])
      assert.equal((await process.get("/user", { headers: browser.headers })).status, 401);
    assert.equal((await remove()).status, 400);
    assert.equal((await enter(person)).status, 201);
    const again = () => app.services.db.transaction((tx) => removeSecondFactor(tx, person.id));
    assert.equal(await again(), false);
  });

  test("is for people, not for bots and service accounts", async () => {
    const bot = await makePerson(app, { user_type: "service_account" });
    assert.equal((await app.get("/user/two_factor", bot)).status, 403);
    assert.equal((await begin(bot)).status, 403);
    assert.equal((await app.get("/user/two_factor")).status, 401);
    const reader = await app.makeUser({}, ["read_api"]);
    assert.equal((await app.get("/user/two_factor", reader)).status, 200);
    assert.equal((await begin(reader)).status, 403);
  });
});
