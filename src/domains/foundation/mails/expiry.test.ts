import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import type { TestUser } from "#test/support/app.ts";
import { claimDueNotices } from "./expiry.ts";
import { sendExpiryNotices } from "./jobs.ts";
import { type Post, startPost } from "./test-support.ts";

const DAY = 86_400_000;
const day = (days: number) => new Date(Date.now() + days * DAY).toISOString().slice(0, 10);
const ago = (days: number) => new Date(Date.now() - days * DAY).toISOString();

describe("notices of expiring tokens", () => {
  let post: Post;
  before(async () => {
    post = await startPost();
  });
  after(() => post.close());

  const run = async () => {
    const { db, jobs } = post.app.services;
    await db.transaction((tx) => jobs.add(tx, sendExpiryNotices, {}));
    await post.settled();
  };
  const noticedTokens = ({ email }: Pick<TestUser, "email">) =>
    post.smtp.received
      .filter(({ to }) => to.includes(email))
      .map(({ text }) => /“(.+)”/.exec(text)?.[1])
      .toSorted((a = "", b = "") => a.localeCompare(b));

  /** Creates a user whose initial token never expires, so that it causes no notice. */
  const makeUser = async (columns = {}) => {
    const user = await post.app.makeUser(columns);
    await sql`update personal_access_tokens set expires_at = null where id = ${user.tokenId}`.execute(
      post.app.services.db.write,
    );
    return user;
  };
  const pass = (id: number, days: number) =>
    sql`update personal_access_tokens set expires_at = expires_at - ${sql.lit(days)}::integer,
      created_at = created_at - ${sql.lit(days)} * interval '1 day' where id = ${id}`.execute(
      post.app.services.db.write,
    );

  test("come 30, 7 and 1 days before, each once", async () => {
    const user = await makeUser();
    const { id } = await post.app.makeToken(user.id, { name: "year", expires_at: day(31), created_at: ago(300) });
    const seen: number[] = [];
    for (let left = 31; left >= 0; left--) {
      await run();
      await run();
      seen.push(noticedTokens(user).length);
      await pass(id, 1);
    }
    const changes = seen.map((count, at) => [31 - at, count]).filter(([, count], at) => count !== (seen[at - 1] ?? 0));
    assert.deepEqual(changes, [
      [30, 1],
      [7, 2],
      [1, 3],
    ]);
  });

  test("are caught up after days without a worker, and only the nearest is sent", async () => {
    const user = await makeUser();
    await post.app.makeToken(user.id, { name: "late", expires_at: day(5), created_at: ago(300) });
    await run();
    await run();
    assert.deepEqual(noticedTokens(user), ["late"]);
    assert.equal(
      post.smtp.received.find(({ to }) => to.includes(user.email))?.headers.get("subject"),
      "An access token expires in 5 days",
    );
  });

  test("are not sent for short-lived, revoked or impersonation tokens", async () => {
    const user = await makeUser();
    const made = { expires_at: day(7), created_at: ago(100) };
    await post.app.makeToken(user.id, { ...made, name: "week", created_at: ago(0) });
    await post.app.makeToken(user.id, { ...made, name: "revoked", revoked_at: ago(1) });
    await post.app.makeToken(user.id, { ...made, name: "impersonation", impersonation: true });
    await post.app.makeToken(user.id, { ...made, name: "expired", expires_at: day(0) });
    await post.app.makeToken(user.id, { ...made, name: "endless", expires_at: null });
    await post.app.makeToken(user.id, { ...made, name: "far", expires_at: day(40) });
    await post.app.makeToken(user.id, { ...made, name: "due" });
    await run();
    assert.deepEqual(noticedTokens(user), ["due"]);
  });

  test("for a group's service account go to the Owners of the group and of the groups above", async () => {
    const { app } = post;
    const [owner, above, developer, ended, blocked] = await Promise.all([
      makeUser(),
      makeUser(),
      makeUser(),
      makeUser(),
      makeUser({ state: "blocked" }),
    ]);
    const top = await app.post("/groups", { token: above.token, payload: { name: "Top", path: `top-${above.id}` } });
    const group = await app.post("/groups", {
      token: above.token,
      payload: { name: "Below", path: "below", parent_id: top.body.id },
    });
    assert.equal(group.status, 201, group.text);
    await app.services.db.write
      .insertInto("members")
      .values([
        { group_id: group.body.id, user_id: owner.id, access_level: 50 },
        { group_id: group.body.id, user_id: developer.id, access_level: 30 },
        { group_id: group.body.id, user_id: ended.id, access_level: 50, expires_at: day(0) },
        { group_id: group.body.id, user_id: blocked.id, access_level: 50 },
      ])
      .execute();
    const account = await makeUser({ user_type: "service_account", provisioned_by_group_id: group.body.id });
    await app.makeToken(account.id, { name: "robot", expires_at: day(1), created_at: ago(9) });
    await run();
    assert.deepEqual([owner, above, developer, ended, blocked, account].map(noticedTokens), [
      ["robot"],
      ["robot"],
      [],
      [],
      [],
      [],
    ]);
    const mail = post.smtp.received.find(({ to }) => to.includes(owner.email));
    assert.match(mail?.text ?? "", new RegExp(`of the service account ${account.username} named “robot”`));
  });

  test("are sent for any number of tokens", async () => {
    const user = await makeUser();
    await sql`
      insert into personal_access_tokens (user_id, name, scopes, token_digest, expires_at, created_at)
      select ${user.id}, 'many ' || n, '{api}', sha256((${user.id} || ':' || n)::text::bytea), ${day(6)}::date, ${ago(90)}::timestamptz
      from generate_series(1, 250) n`.execute(post.app.services.db.write);
    await run();
    assert.equal(new Set(noticedTokens(user)).size, 250);
    assert.equal(noticedTokens(user).length, 250);
    assert.deepEqual(await post.app.services.db.transaction((tx) => claimDueNotices(tx, undefined)), []);
  });
});
