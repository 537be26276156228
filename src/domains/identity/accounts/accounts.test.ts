import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type Post, startPost } from "#domains/foundation/mails/test-support.ts";
import { lock } from "#domains/identity/sessions/test-support.ts";
import type { Reply, TestUser } from "#test/support/app.ts";
import { holdMinute } from "#test/support/minute.ts";
import { secretIn } from "#test/support/smtp.ts";

const CONFIRM = "/-/account/confirm";
const PASSWORD = "/-/account/password";
const FORGOTTEN = "/-/account/forgotten";
const GOOD = "correct-horse-battery";

// One suite, so that its worker does not run during the tests of other files.
describe("accounts", () => {
  let post: Post;
  before(async () => {
    post = await startPost();
  });
  after(() => post.close());

  const form = (fields: Record<string, string>) => ({
    payload: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" },
  });
  const confirm = (token: string) => post.app.post(CONFIRM, form({ token }));
  const choose = (token: string, password = GOOD, password_again = password) =>
    post.app.post(PASSWORD, form({ token, password, password_again }));
  const rowOf = ({ id }: TestUser) =>
    post.app.services.db.read.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
  const addEmail = (user: TestUser, columns: { email: string; confirmed_at?: string }) =>
    post.app.services.db.write
      .insertInto("emails")
      .values({ user_id: user.id, ...columns })
      .execute();
  const emailsOf = ({ id }: TestUser) =>
    post.app.services.db.read
      .selectFrom("emails")
      .select(["email", "confirmed_at"])
      .where("user_id", "=", id)
      .execute();
  const change = ({ id }: TestUser, columns: Record<string, unknown>) =>
    post.app.services.db.write.updateTable("users").set(columns).where("id", "=", id).execute();
  const age = ({ id }: TestUser, by: string) =>
    sql`update mailed_links set expires_at = expires_at - ${by}::interval where user_id = ${id}`.execute(
      post.app.services.db.write,
    );

  /** The secret of the newest link to an address, after waiting for this many mails. */
  async function secretFor(address: string, count = 1): Promise<string> {
    const mail = (await post.smtp.mailsTo(address, count)).at(-1);
    assert.ok(mail);
    return secretIn(mail);
  }
  async function resetFor(user: TestUser, count = 1): Promise<string> {
    await post.send({ kind: "reset_password", userId: user.id });
    return secretFor(user.email, count);
  }
  async function confirmationFor(user: TestUser, email = user.email, count = 1): Promise<string> {
    await post.send({ kind: "confirm_email", userId: user.id, email });
    return secretFor(email, count);
  }

  describe("pages of accounts", () => {
    test("run no script, load nothing, and are not cached", async () => {
      const user = await post.app.makeUser();
      const pages = [
        await post.app.get(FORGOTTEN),
        await post.app.get(`${PASSWORD}?token=${await resetFor(user)}`),
        await post.app.get(`${PASSWORD}?token=wrong`),
        await post.app.get(CONFIRM),
      ];
      assert.deepEqual(
        pages.map(({ status }) => status),
        [200, 200, 404, 404],
      );
      for (const { headers, text } of pages) {
        assert.equal(headers["content-type"], "text/html; charset=utf-8");
        assert.match(String(headers["cache-control"]), /^no-store/);
        assert.equal(headers["referrer-policy"], "same-origin");
        assert.equal(headers["x-robots-tag"], "noindex");
        assert.match(
          headers["content-security-policy"] ?? "",
          /^default-src 'none'; style-src 'sha256-[\w+/]+='; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
        );
        assert.doesNotMatch(text, /<script|<link|<img|\son\w+=|style="/);
        assert.match(text, /<meta name="robots" content="noindex">/);
      }
    });

    test("escape what was sent to them", async () => {
      const { text } = await post.app.get(`${PASSWORD}?token=${encodeURIComponent('"><script>alert(1)</script>')}`);
      assert.doesNotMatch(text, /<script/);
    });
  });

  describe("confirming an address", () => {
    test("opening the link changes nothing, posting its form confirms the primary address once", async () => {
      const user = await post.app.makeUser({ confirmed_at: null });
      const token = await confirmationFor(user);
      assert.equal((await post.app.get("/user", { token: user.token })).status, 403);
      for (let turn = 0; turn < 2; turn++) {
        const page = await post.app.get(`${CONFIRM}?token=${token}`);
        assert.equal(page.status, 200);
        assert.match(page.text, new RegExp(`<input type="hidden" name="token" value="${token}">`));
        assert.equal((await rowOf(user)).confirmed_at, null);
      }
      assert.equal((await confirm(token)).status, 200);
      assert.notEqual((await rowOf(user)).confirmed_at, null);
      assert.equal((await post.app.get("/user", { token: user.token })).status, 200);
      const again = await confirm(token);
      assert.equal(again.status, 404);
      assert.equal(again.text, (await confirm("never")).text);
    });

    test("confirms a secondary address and leaves the primary one", async () => {
      const user = await post.app.makeUser();
      const email = `second-${user.email}`;
      await addEmail(user, { email });
      assert.equal((await confirm(await confirmationFor(user, email))).status, 200);
      const [added] = await emailsOf(user);
      assert.equal(typeof added?.confirmed_at, "string");
      assert.equal((await rowOf(user)).email, user.email);
    });

    test("makes a pending secondary address the primary one", async () => {
      const user = await post.app.makeUser();
      const email = `next-${user.email}`;
      await addEmail(user, { email });
      await change(user, { unconfirmed_email: email });
      assert.equal((await confirm(await confirmationFor(user, email))).status, 200);
      const { email: primary, unconfirmed_email, confirmed_at } = await rowOf(user);
      assert.deepEqual([primary, unconfirmed_email], [email, null]);
      assert.notEqual(confirmed_at, null);
      const [old] = await emailsOf(user);
      assert.equal(old?.email, user.email);
      assert.equal(typeof old?.confirmed_at, "string");
    });

    test("makes a pending address the primary one even if it is not a secondary one", async () => {
      const account = await post.app.makeUser({ user_type: "service_account" });
      const email = `custom-${account.email}`;
      await change(account, { unconfirmed_email: email });
      assert.equal((await confirm(await confirmationFor(account, email))).status, 200);
      assert.equal((await rowOf(account)).email, email);
      assert.equal((await rowOf(account)).unconfirmed_email, null);
      assert.deepEqual(await emailsOf(account), []);
    });

    test("fails for a removed address, after three days, and with an older link", async () => {
      const user = await post.app.makeUser();
      const email = `gone-${user.email}`;
      await addEmail(user, { email });
      const first = await confirmationFor(user, email);
      const second = await confirmationFor(user, email, 2);
      assert.notEqual(first, second);
      assert.equal((await confirm(first)).status, 404);
      await age(user, "3 days");
      assert.equal((await post.app.get(`${CONFIRM}?token=${second}`)).status, 404);
      assert.equal((await confirm(second)).status, 404);
      const third = await confirmationFor(user, email, 3);
      await sql`delete from emails where user_id = ${user.id}`.execute(post.app.services.db.write);
      assert.equal((await confirm(third)).status, 404);
    });

    test("is not undone if the mail is sent again", async () => {
      const user = await post.app.makeUser({ confirmed_at: null });
      const token = await confirmationFor(user);
      await confirm(token);
      await post.send({ kind: "confirm_email", userId: user.id, email: user.email });
      await post.settled();
      assert.equal((await post.smtp.mailsTo(user.email)).length, 1);
    });
  });

  describe("choosing a password", () => {
    test("sets it, ends every session, unlocks the account, and sends a mail", async () => {
      const { app } = post;
      const user = await app.makeUser({
        password_expired: true,
      });
      await lock(app, user.id);
      await app.services.db.write
        .insertInto("sessions")
        .values([1, 2].map((n) => ({ user_id: user.id, digest: Buffer.from(`${user.id} ${n}`) })))
        .execute();
      const token = await resetFor(user);
      const page = await app.get(`${PASSWORD}?token=${token}`);
      assert.match(page.text, /name="password" type="password" autocomplete="new-password" required/);
      const answer = await choose(token);
      assert.equal(answer.status, 200, answer.text);
      const row = await rowOf(user);
      assert.match(row.password_digest ?? "", /^\$argon2id\$/);
      assert.deepEqual([row.password_expired, row.failed_attempts, row.locked_until], [false, 0, null]);
      const attempts = app.services.db.read.selectFrom("sign_in_attempts").where("user_id", "=", user.id);
      assert.deepEqual(await attempts.execute(), []);
      const sessions = await app.services.db.read.selectFrom("sessions").where("user_id", "=", user.id).execute();
      assert.deepEqual(sessions, []);
      const mails = await post.smtp.mailsTo(user.email, 2);
      assert.equal(mails[1]?.headers.get("subject"), "Your password was changed");
      assert.equal((await choose(token)).status, 404);
      assert.equal((await rowOf(user)).password_digest, row.password_digest);
      const log = app.logged.join("");
      for (const secret of [token, GOOD]) assert.ok(!log.includes(secret));
    });

    test("is audited with the user as entity", async () => {
      const user = await post.app.makeUser();
      await choose(await resetFor(user));
      const { rows } = await sql<object>`
      select event, actor_id, target_id, entity_type, entity_id from audit_events
      where target_id = ${user.id} and target_type = 'User'`.execute(post.app.services.db.read);
      assert.deepEqual(rows, [
        { event: "password_reset", actor_id: null, target_id: user.id, entity_type: "User", entity_id: user.id },
      ]);
    });

    test("shows the form again with the problems, and the link still works", async () => {
      const user = await post.app.makeUser();
      const token = await resetFor(user);
      const answers = [
        await choose(token, "short"),
        await choose(token, `${user.username}1`),
        await choose(token, GOOD, "x"),
      ];
      assert.deepEqual(
        answers.map(({ status }) => status),
        [400, 400, 400],
      );
      assert.match(answers[0]?.text ?? "", /role="alert">The password is too short \(minimum is 8 characters\)\.</);
      assert.match(answers[1]?.text ?? "", /must not contain commonly used combinations/);
      assert.match(answers[2]?.text ?? "", /The two passwords are not the same\./);
      for (const { text } of answers) assert.match(text, new RegExp(`name="token" value="${token}"`));
      assert.equal((await rowOf(user)).password_digest, null);
      assert.equal((await choose(token)).status, 200);
    });

    test("works once, even for concurrent requests", async () => {
      const user = await post.app.makeUser();
      const token = await resetFor(user);
      const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => choose(token, `${GOOD}-${n}`)));
      const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length;
      assert.deepEqual([count(200), count(404)], [1, 5]);
    });

    test("fails after six hours, with an older link, for another purpose, and for a closed account", async () => {
      const { app } = post;
      const user = await app.makeUser({ confirmed_at: null });
      const old = await resetFor(user);
      const token = await resetFor(user, 2);
      assert.equal((await choose(old)).status, 404);
      assert.equal((await confirm(token)).status, 404);
      await change(user, { state: "blocked" });
      assert.equal((await choose(token)).status, 404);
      await change(user, { state: "active" });
      await age(user, "6 hours");
      assert.equal((await choose(token)).status, 404);
      assert.equal((await rowOf(user)).password_digest, null);
      const confirming = await confirmationFor(user, user.email, 3);
      assert.equal((await choose(confirming)).status, 404);
    });

    test("fails once the password was changed in another way", async () => {
      const { app } = post;
      const admin = await app.makeUser({ admin: true });
      const user = await app.makeUser();
      const token = await resetFor(user);
      const set = await app.put(`/users/${user.id}`, { token: admin.token, payload: { password: GOOD } });
      assert.equal(set.status, 200);
      assert.equal((await choose(token, `${GOOD}-again`)).status, 404);
    });

    test("works only with the newest link, even if many are mailed at once", async () => {
      const user = await post.app.makeUser();
      await Promise.all(Array.from({ length: 8 }, () => post.send({ kind: "reset_password", userId: user.id })));
      const secrets = (await post.smtp.mailsTo(user.email, 8)).map(secretIn);
      const statuses = await Promise.all(
        secrets.map(async (token) => (await post.app.get(`${PASSWORD}?token=${token}`)).status),
      );
      assert.equal(statuses.filter((status) => status === 200).length, 1);
    });

    test("confirms the primary address that the link went to", async () => {
      const user = await post.app.makeUser({ confirmed_at: null });
      await choose(await resetFor(user));
      assert.notEqual((await rowOf(user)).confirmed_at, null);
    });

    test("is refused if a page of another site posts the form, and needs no sign-in", async () => {
      const user = await post.app.makeUser();
      const token = await resetFor(user);
      const given = form({ token, password: GOOD, password_again: GOOD });
      const foreign = await post.app.post(PASSWORD, {
        ...given,
        headers: { ...given.headers, "sec-fetch-site": "cross-site" },
      });
      assert.equal(foreign.status, 403);
      const cookie = { ...given.headers, cookie: "fairlead_session=whatever" };
      assert.equal((await post.app.post(PASSWORD, { ...given, headers: cookie })).status, 200);
      const opened = { "sec-fetch-site": "cross-site", cookie: "fairlead_session=whatever" };
      assert.equal((await post.app.get(FORGOTTEN, { headers: opened })).status, 200);
    });
  });

  describe("a forgotten password", () => {
    const ask = (email: string, headers = {}) => {
      const given = form({ email });
      return post.app.post(FORGOTTEN, { ...given, headers: { ...given.headers, ...headers } });
    };

    test("is answered alike for every address, and mails only confirmed ones", async () => {
      const { app, smtp } = post;
      const [user, second, unconfirmed, blocked, banned, bot] = await Promise.all([
        app.makeUser(),
        app.makeUser(),
        app.makeUser({ confirmed_at: null }),
        app.makeUser({ state: "blocked" }),
        app.makeUser({ state: "banned" }),
        app.makeUser({ user_type: "service_account" }),
      ]);
      const confirmed = `confirmed-${second.email}`;
      const pending = `pending-${second.email}`;
      await addEmail(second, { email: confirmed, confirmed_at: new Date().toISOString() });
      await addEmail(second, { email: pending });
      const silent = [
        unconfirmed.email,
        blocked.email,
        banned.email,
        bot.email,
        pending,
        "stranger@example.com",
        "",
        "no address",
      ];
      const answers: Reply[] = [];
      for (const email of [user.email.toUpperCase(), confirmed, ...silent]) answers.push(await ask(email));
      const shape = ({ status, headers, text }: Reply) => {
        const { "x-request-id": _id, date: _date, ...same } = headers;
        return { status, text, same };
      };
      for (const answer of answers) assert.deepEqual(shape(answer), shape(answers[0] ?? answer));
      assert.equal(answers[0]?.status, 200);
      await smtp.mailsTo(user.email);
      const [mail] = await smtp.mailsTo(confirmed);
      assert.ok(mail);
      await post.settled();
      for (const email of [...silent, second.email]) {
        assert.deepEqual(
          smtp.received.filter(({ to }) => to.includes(email)),
          [],
          email,
        );
      }
      assert.equal((await choose(secretIn(mail))).status, 200);
      assert.notEqual((await rowOf(second)).password_digest, null);
    });

    test("takes one address: a list, an object and two addresses are refused", async () => {
      const user = await post.app.makeUser();
      const json = { headers: { "content-type": "application/json" } };
      const other = "mallory@example.com";
      for (const email of [[user.email, other], { a: user.email }, [user.email], null]) {
        const answer = await post.app.post(FORGOTTEN, { ...json, payload: JSON.stringify({ email }) });
        assert.equal(answer.status, 400, JSON.stringify(email));
      }
      const headers = form({}).headers;
      const pairs = [`email[]=${user.email}&email[]=${other}`, `email[x]=${user.email}`];
      for (const payload of pairs)
        assert.equal((await post.app.post(FORGOTTEN, { headers, payload })).status, 400, payload);
      for (const email of [`${user.email},${other}`, `${user.email} ${other}`, `${user.email}\n${other}`])
        await ask(email);
      await post.settled();
      assert.deepEqual(
        post.smtp.received.filter(({ to }) => to.includes(user.email) || to.includes(other)),
        [],
      );
    });

    test("mails at most once in five minutes", async () => {
      const user = await post.app.makeUser();
      await ask(user.email);
      const first = await secretFor(user.email);
      for (let turn = 0; turn < 5; turn++) await ask(user.email);
      await post.settled();
      assert.equal((await post.smtp.mailsTo(user.email)).length, 1);
      await age(user, "6 minutes");
      await ask(user.email);
      assert.notEqual(await secretFor(user.email, 2), first);
    });

    test("links to the configured URL, whatever host the request names", async () => {
      const user = await post.app.makeUser();
      await ask(user.email, { host: "evil.example", "x-forwarded-host": "evil.example" });
      const [mail] = await post.smtp.mailsTo(user.email);
      assert.match(mail?.text ?? "", /https:\/\/fairlead\.example\/-\/account\/password/);
      assert.doesNotMatch(mail?.raw ?? "", /evil/);
    });

    test("is rate-limited for each caller", async () => {
      const limited = await startPost({ FAIRLEAD_RATE_LIMITS: "on" });
      holdMinute(limited.app);
      try {
        const statuses: number[] = [];
        for (let turn = 0; turn < 21; turn++) {
          statuses.push((await limited.app.post(FORGOTTEN, form({ email: `${turn}@example.com` }))).status);
        }
        assert.deepEqual([statuses[0], statuses[19], statuses[20]], [200, 200, 429]);
      } finally {
        await limited.close();
      }
    });

    test("with characters that PostgreSQL cannot store is refused or answered, never an error", async () => {
      for (const email of ["a\u0000b@example.com", "\ud800@example.com", "a\ud800"]) {
        const answer = await post.app.post(FORGOTTEN, {
          headers: { "content-type": "application/json" },
          payload: JSON.stringify({ email }),
        });
        assert.ok(answer.status < 500, `${JSON.stringify(email)}: ${answer.status}`);
      }
      for (const token of ["a%00b", "%ED%A0%80"]) {
        assert.ok((await post.app.get(`${PASSWORD}?token=${token}`)).status < 500);
      }
    });
  });
});
