import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { text } from "node:stream/consumers";
import { sql } from "kysely";
import { redrive } from "#jobs/dead.ts";
import { answer, startSmtp } from "#test/support/smtp.ts";
import { until } from "#test/support/until.ts";
import { mailKind } from "./send.ts";
import { type Post, startPost } from "./test-support.ts";

describe("mails that the server does not accept at once", () => {
  let post: Post;
  /** Every mail handed to the server, accepted or not. */
  const handed: string[] = [];
  let refusals = 0;
  let nobody = true;

  before(async () => {
    const smtp = await startSmtp({
      onRcptTo({ address }, _session, done) {
        if (nobody && address.startsWith("nobody")) done(answer(550, "No such user"));
        else done();
      },
      async onData(stream, _session, done) {
        handed.push(await text(stream));
        if (refusals-- > 0) done(answer(421, "Going down"));
        else done();
      },
    });
    post = await startPost({}, smtp);
  });
  after(() => post.close());

  const jobsOf = async (userId: number) => {
    const { rows } = await sql<{ queue: string; message: string | null }>`
      select name as queue, source_output ->> 'message' as message
      from jobs.job where data -> 'payload' ->> 'userId' = ${String(userId)}`.execute(post.app.services.db.read);
    return rows;
  };

  test("are retried as the same mail with the same link, which works throughout", async () => {
    const { app, send } = post;
    const user = await app.makeUser();
    refusals = 1;
    await send({ kind: "reset_password", userId: user.id });
    const [first = "", second = ""] = await until("two tries", async () => handed.length === 2 && handed);
    await post.settled();
    for (const pattern of [/^Message-ID: .*$/m, /^\S*\?token=.*$/m]) {
      assert.match(first, pattern);
      assert.equal(pattern.exec(first)?.[0], pattern.exec(second)?.[0]);
    }
    const [, token] = /\?token=([\w-]+)/.exec(first.replaceAll("=\r\n", "").replaceAll("=3D", "=")) ?? [];
    assert.equal((await app.get(`/-/account/password?token=${token}`)).status, 200);
  });

  test("are dead at once after a permanent rejection, and can be retried by hand", async () => {
    const user = await post.app.makeUser({ email: `nobody-${Date.now()}@example.com` });
    await post.send({ kind: "password_changed", userId: user.id });
    const dead = await until("a dead job", async () => (await jobsOf(user.id)).find(({ queue }) => queue === "dead"));
    assert.match(dead.message ?? "", /550 No such user/);
    const before = handed.length;
    nobody = false;
    const { db, log } = post.app.services;
    assert.equal(await redrive(db, log, "mail"), 1);
    await until("the mail", async () => handed.length > before);
  });

  test("are retried for days", async () => {
    const user = await post.app.makeUser();
    await post.app.services.db.transaction(async (tx) => {
      const mail = { kind: "password_changed", userId: user.id } as const;
      await post.app.services.jobs.add(tx, mailKind, mail, { startAfter: 3600 });
    });
    const { rows } = await sql<{ retries: number; most: number }>`
      select retry_limit as retries, retry_delay_max as most from jobs.job
      where data -> 'payload' ->> 'userId' = ${String(user.id)}`.execute(post.app.services.db.read);
    const days = ((rows[0]?.retries ?? 0) * (rows[0]?.most ?? 0)) / 86_400;
    assert.ok(days >= 4 && days <= 6, `${days} days`);
  });
});
