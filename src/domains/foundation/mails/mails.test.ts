import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { Received } from "#test/support/smtp.ts";
import { secretIn } from "#test/support/smtp.ts";
import { type Post, SITE, startPost } from "./test-support.ts";

describe("mails", () => {
  let post: Post;
  before(async () => {
    post = await startPost();
  });
  after(() => post.close());

  const subject = ({ headers }: Received) => headers.get("subject");

  test("each kind arrives at the primary address with its details", async () => {
    const user = await post.app.makeUser();
    const userId = user.id;
    const { id: tokenId } = await post.app.makeToken(userId, {
      name: "deploy <b>",
      expires_at: new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10),
    });
    await post.send({
      kind: "new_sign_in",
      userId,
      ip: "203.0.113.7",
      agent: "Mozilla/5.0",
      at: "2027-01-02T03:04:05Z",
    });
    await post.send({ kind: "token_expiring", userId, tokenId });
    await post.send({ kind: "account_locked", userId });
    await post.send({ kind: "password_changed", userId });
    await post.send({ kind: "reset_password", userId });
    await post.send({ kind: "invitation", userId, nonce: randomUUID() });
    const mails = await post.smtp.mailsTo(user.email, 6);
    const by = new Map(mails.map((mail) => [subject(mail), mail]));
    const subjects = [
      "An access token expires in 7 days",
      "Choose a new password",
      "New sign-in to your account",
      "Your account is locked for a while",
      "Your new account",
      "Your password was changed",
    ];
    assert.deepEqual(new Set(by.keys()), new Set(subjects));
    for (const mail of mails) assert.match(mail.text, new RegExp(`^Hello ${user.username},`));
    const signIn = by.get("New sign-in to your account");
    assert.match(signIn?.text ?? "", /2027-01-02T03:04:05Z.*203\.0\.113\.7.*Mozilla/);
    const token = by.get("An access token expires in 7 days");
    assert.match(token?.text ?? "", /your access token “deploy <b>” expires on \d{4}-\d\d-\d\d/);
    assert.match(token?.html ?? "", /deploy &lt;b&gt;/);
    const reset = by.get("Choose a new password");
    assert.match(reset?.text ?? "", new RegExp(`${SITE}/-/account/password\\?token=[\\w-]{43}\\b`));
  });

  test("no secret is in a job payload, a row or a log line", async () => {
    const user = await post.app.makeUser();
    await post.send({ kind: "reset_password", userId: user.id });
    const [mail] = await post.smtp.mailsTo(user.email);
    assert.ok(mail);
    const secret = secretIn(mail);
    assert.equal(Buffer.from(secret, "base64url").length, 32);
    await post.settled();
    const { rows } = await sql<{ digest: Buffer }>`
      select digest from mailed_links where user_id = ${user.id}`.execute(post.app.services.db.read);
    assert.equal(rows.length, 1);
    const { rows: seen } = await sql<{ all: string }>`
      select (select coalesce(string_agg(t::text, ''), '') from mailed_links t)
        || (select coalesce(string_agg(t::text, ''), '') from jobs.job t) as all`.execute(post.app.services.db.read);
    for (const form of [secret, Buffer.from(secret, "base64url").toString("hex")]) {
      assert.ok(!seen[0]?.all.includes(form));
      assert.ok(!post.app.logged.join("").includes(form));
    }
  });

  test("a mail is not sent when its reason no longer exists", async () => {
    const { app, send, smtp } = post;
    const [blocked, unconfirmed, bot, ghost, done, signedIn] = await Promise.all([
      app.makeUser({ state: "blocked" }),
      app.makeUser({ confirmed_at: null }),
      app.makeUser({ user_type: "service_account" }),
      app.makeUser({ removal_began_at: new Date().toISOString() }),
      app.makeUser(),
      app.makeUser({ sign_in_count: 1 }),
    ]);
    const pending = `pending-${done.email}`;
    await app.services.db.write.insertInto("emails").values({ user_id: done.id, email: pending }).execute();
    const revoked = await app.makeToken(done.id, { revoked_at: new Date().toISOString() });
    for (const { id: userId } of [blocked, bot, ghost]) {
      await send({ kind: "reset_password", userId });
      await send({ kind: "password_changed", userId });
      await send({ kind: "invitation", userId, nonce: randomUUID() });
    }
    await send({ kind: "password_changed", userId: unconfirmed.id });
    await send({ kind: "confirm_email", userId: done.id, email: done.email });
    await send({ kind: "confirm_email", userId: done.id, email: unconfirmed.email });
    await send({ kind: "reset_password", userId: done.id, email: unconfirmed.email });
    await send({ kind: "reset_password", userId: done.id, email: pending });
    await send({ kind: "reset_password", userId: unconfirmed.id, email: unconfirmed.email });
    await send({ kind: "invitation", userId: signedIn.id, nonce: randomUUID() });
    await send({ kind: "token_expiring", userId: done.id, tokenId: revoked.id });
    await send({ kind: "token_expiring", userId: done.id, tokenId: 2 ** 40 });
    await post.settled();
    for (const { email } of [blocked, unconfirmed, bot, ghost, done, signedIn, { email: pending }]) {
      assert.deepEqual(
        smtp.received.filter(({ to }) => to.includes(email)),
        [],
        email,
      );
    }
  });

  test("a confirmation goes to the unconfirmed address", async () => {
    const { app, send, smtp } = post;
    const user = await app.makeUser();
    const added = `added-${user.email}`;
    await app.services.db.write.insertInto("emails").values({ user_id: user.id, email: added }).execute();
    await send({ kind: "confirm_email", userId: user.id, email: added });
    const [mail] = await smtp.mailsTo(added);
    assert.match(mail?.text ?? "", new RegExp(`${SITE}/-/account/confirm\\?token=`));
    assert.deepEqual(
      smtp.received.filter(({ to }) => to.includes(user.email)),
      [],
    );
  });
});
