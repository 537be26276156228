import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { startInvitation } from "#domains/foundation/mails/invitations.ts";
import { type Post, SITE, startPost } from "#domains/foundation/mails/test-support.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { secretIn } from "#test/support/smtp.ts";

const PASSWORD_PAGE = "/-/account/password";
const GOOD = "correct-horse-battery";

const form = (fields: Record<string, string>) => ({
  payload: new URLSearchParams(fields).toString(),
  headers: { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin" },
});
const secretOf = (url: string) => new URL(url).searchParams.get("token") ?? "";
const choose = (app: TestApp, token: string, password = GOOD) =>
  app.post(PASSWORD_PAGE, form({ token, password, password_again: password }));
const invite = (app: TestApp, admin: TestUser, id: number) =>
  app.post(`/users/${id}/invitation`, { token: admin.token });
const signIn = (app: TestApp, login: string, password = GOOD) => app.post("/session", { payload: { login, password } });
const change = (app: TestApp, { id }: TestUser, columns: Record<string, unknown>) =>
  app.services.db.write.updateTable("users").set(columns).where("id", "=", id).execute();

describe("invitations without a mail server", () => {
  let app: TestApp;
  let admin: TestUser;
  before(async () => {
    app = await testApp();
    admin = await app.makeUser({ admin: true });
  });
  after(() => app.close());

  test("an administrator gets a link by which the user chooses a password and signs in", async () => {
    const user = await app.makeUser({ confirmed_at: null });
    const { status, body, headers } = await invite(app, admin, user.id);
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body), ["url", "expires_at"]);
    assert.match(body.url, /^http:\/\/localhost\/-\/account\/password\?token=[\w-]{43}$/);
    assert.ok(Math.abs(Date.parse(body.expires_at) - Date.now() - 7 * 86_400_000) < 60_000);
    assert.equal(headers["cache-control"], "no-store");

    const page = await app.get(body.url.replace("http://localhost", ""));
    assert.equal(page.status, 200);
    assert.match(page.text, /<h1>Choose your password<\/h1>/);
    assert.match(page.text, new RegExp(`Your username is ${user.username}\\.`));
    assert.match((await choose(app, secretOf(body.url), "short")).text, /too short/);
    const chosen = await choose(app, secretOf(body.url));
    assert.equal(chosen.status, 200, chosen.text);
    assert.match(chosen.text, new RegExp(`login=${user.username} .*http://localhost/api/v4/session</pre>`));
    assert.match(chosen.text, /http:\/\/localhost\/api\/v4\/user\/personal_access_tokens<\/pre>/);
    assert.match(chosen.text, /http:\/\/localhost\/-\/api\b/);
    assert.equal((await signIn(app, user.username)).status, 201, "the address counts as confirmed");
    assert.equal((await choose(app, secretOf(body.url))).status, 404);
  });

  test("the secret is in no log, no row and no audit event", async () => {
    const user = await app.makeUser();
    const { body, headers } = await invite(app, admin, user.id);
    const secret = secretOf(body.url);
    await app.get(`${PASSWORD_PAGE}?token=${secret}`);
    await choose(app, secret);
    assert.ok(!app.logged.join("").includes(secret));
    const { rows } = await sql<{ event: string; details: object; text: string }>`
      select event, details, a::text as text from audit_events a
      where target_type = 'User' and target_id = ${user.id} order by id`.execute(app.services.db.write);
    const { expires_at } = body;
    assert.deepEqual(
      rows.map(({ event, details }) => ({ event, details })),
      [
        { event: "user_invited", details: { mailed: false, expires_at } },
        { event: "password_reset", details: { invitation: true } },
      ],
    );
    assert.ok(rows[0]?.text.includes(headers["x-request-id"] ?? "-"));
    const { rows: links } = await sql<{ text: string }>`
      select l::text as text from mailed_links l where user_id = ${user.id}`.execute(app.services.db.write);
    for (const { text } of [...rows, ...links]) assert.ok(!text.includes(secret));
  });

  test("a newer link ends the older one, and so do seven days", async () => {
    const user = await app.makeUser();
    const [first, second] = [await invite(app, admin, user.id), await invite(app, admin, user.id)];
    const open = async ({ body }: typeof first) =>
      (await app.get(`${PASSWORD_PAGE}?token=${secretOf(body.url)}`)).status;
    assert.deepEqual([await open(first), await open(second)], [404, 200]);
    const age = (by: string) =>
      sql`update mailed_links set expires_at = expires_at - ${by}::interval where user_id = ${user.id}`.execute(
        app.services.db.write,
      );
    await age("6 days 23 hours");
    assert.equal(await open(second), 200);
    await age("1 hour");
    assert.equal(await open(second), 404);
    assert.equal((await choose(app, secretOf(second.body.url))).status, 404);
  });

  test("a link is worth nothing once the user signed in, was given a password, moved or was blocked", async () => {
    const ways: Record<string, (user: TestUser) => Promise<unknown>> = {
      "signed in": (user) => change(app, user, { sign_in_count: 1 }),
      "given a password": (user) =>
        app.put(`/users/${user.id}`, { token: admin.token, payload: { password: `${GOOD}-2` } }),
      moved: (user) => change(app, user, { email: `moved-${user.email}` }),
      blocked: (user) => change(app, user, { state: "blocked" }),
      "being removed": (user) => change(app, user, { removal_began_at: new Date().toISOString() }),
    };
    for (const [way, happen] of Object.entries(ways)) {
      const user = await app.makeUser();
      const secret = secretOf((await invite(app, admin, user.id)).body.url);
      await happen(user);
      assert.equal((await app.get(`${PASSWORD_PAGE}?token=${secret}`)).status, 404, way);
      assert.equal((await choose(app, secret)).status, 404, way);
    }
  });

  test("only administrators invite, and only people who never signed in", async () => {
    const user = await app.makeUser();
    assert.equal((await app.post(`/users/${user.id}/invitation`)).status, 401);
    assert.equal((await invite(app, user, user.id)).status, 403);
    assert.equal((await invite(app, admin, 999_999_999)).status, 404);
    for (const columns of [{ sign_in_count: 1 }, { state: "blocked" }, { user_type: "service_account" }] as const) {
      const refused = await invite(app, admin, (await app.makeUser(columns)).id);
      assert.equal(refused.status, 409, JSON.stringify(columns));
    }
  });

  test("no job waits for a mail server that is not there", async () => {
    const user = await app.makeUser();
    await invite(app, admin, user.id);
    const { rows } = await sql`select from jobs.job where data->'payload'->>'userId' = ${String(user.id)}`.execute(
      app.services.db.write,
    );
    assert.equal(rows.length, 0);
  });
});

describe("invitations by mail", () => {
  let post: Post;
  let admin: TestUser;
  before(async () => {
    post = await startPost();
    admin = await post.app.makeUser({ admin: true });
  });
  after(() => post.close());

  const create = async (username: string) => {
    const payload = { username, name: username, email: `${username}@example.com`, reset_password: true };
    const { status, body } = await post.app.post("/users", { token: admin.token, payload });
    assert.equal(status, 201);
    return body as TestUser;
  };

  test("a user created with reset_password gets an invitation, and can choose a password by it", async () => {
    const user = await create("newcomer");
    const [mail] = await post.smtp.mailsTo(user.email);
    assert.ok(mail);
    assert.equal(mail.headers.get("subject"), "Your new account");
    assert.match(mail.text, new RegExp(`an administrator created an account for you at ${SITE}\\.`));
    assert.match(mail.text, /Your username is newcomer\./);
    assert.match(mail.text, /for 7 days/);
    assert.doesNotMatch(mail.text, /new password/);
    assert.equal((await choose(post.app, secretIn(mail))).status, 200);
    assert.equal((await signIn(post.app, "newcomer")).status, 201);
  });

  test("the link that is answered is the one that is mailed, and begins with the external address", async () => {
    const user = await post.app.makeUser();
    const { body } = await invite(post.app, admin, user.id);
    const [mail] = await post.smtp.mailsTo(user.email);
    assert.ok(mail?.text.includes(body.url));
    assert.ok(body.url.startsWith(`${SITE}/`));
    await post.settled();
    const { rows } = await sql<{ text: string }>`select j::text as text from jobs.job j`.execute(
      post.app.services.db.read,
    );
    assert.ok(!rows.some(({ text }) => text.includes(secretOf(body.url))));
  });

  test("a letter that is late does not bring back a link that was replaced or used", async () => {
    const { app, smtp } = post;
    const [replaced, used] = [await app.makeUser(), await app.makeUser()];
    const start = (user: TestUser) =>
      app.services.db.transaction((tx) => startInvitation(tx, app.services.sealing, user));
    const [old, gone] = [await start(replaced), await start(used)];
    const { body: newer } = await invite(app, admin, replaced.id);
    assert.equal((await choose(app, gone.secret)).status, 200);
    await post.send({ kind: "invitation", userId: replaced.id, nonce: old.nonce });
    await post.send({ kind: "invitation", userId: used.id, nonce: gone.nonce });
    await post.settled();
    const subjects = (await Promise.all([replaced, used].map(({ email }) => smtp.mailsTo(email)))).map((mails) =>
      mails.map(({ headers }) => headers.get("subject")),
    );
    assert.deepEqual(subjects, [["Your new account"], ["Your password was changed"]]);
    assert.equal((await choose(app, old.secret)).status, 404);
    assert.equal((await choose(app, secretOf(newer.url))).status, 200);
  });

  test("an invitation does not keep anybody from asking for a new password", async () => {
    const user = await post.app.makeUser();
    await invite(post.app, admin, user.id);
    await post.smtp.mailsTo(user.email);
    await post.app.post("/-/account/forgotten", form({ email: user.email }));
    const mails = await post.smtp.mailsTo(user.email, 2);
    assert.deepEqual(
      mails.map(({ headers }) => headers.get("subject")),
      ["Your new account", "Choose a new password"],
    );
    const [first, second] = mails.map(secretIn);
    assert.equal((await choose(post.app, second ?? "")).status, 200);
    assert.equal((await choose(post.app, first ?? "")).status, 404, "one password ends the links to choose another");
  });
});
