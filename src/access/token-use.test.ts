import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pino from "pino";
import { type TestApp, testApp } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import { tokenByDigest } from "./acting-users.ts";
import { tokenDigest } from "./authenticate.ts";
import { sessionByDigest, newSessionSecret } from "./sessions.ts";
import { recordTokenUse } from "./token-use.ts";

describe("the use of tokens", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
  });
  after(() => app.close());

  async function rowOf(token: string) {
    const row = await tokenByDigest(app.services.db, tokenDigest(token));
    assert.ok(row);
    return row;
  }

  const usedAt = async (id: number) =>
    (
      await app.services.db.write
        .selectFrom("personal_access_tokens")
        .select("last_used_at")
        .where("id", "=", id)
        .executeTakeFirstOrThrow()
    ).last_used_at;

  test("is written on stop, for the token and for its user's last activity", async () => {
    const user = await app.makeUser();
    const use = recordTokenUse(app.services.db, pino({ level: "silent" }));
    use.record(await rowOf(user.token));
    assert.equal(await usedAt(user.tokenId), null);
    await use.stop();
    assert.notEqual(await usedAt(user.tokenId), null);
    const { last_activity_on } = await app.services.db.write
      .selectFrom("users")
      .select("last_activity_on")
      .where("id", "=", user.id)
      .executeTakeFirstOrThrow();
    assert.equal(last_activity_on, new Date().toISOString().slice(0, 10));
  });

  test("is not written again within ten minutes", async () => {
    const user = await app.makeUser();
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    for (const [minutes, written] of [
      [9, false],
      [11, true],
    ] as const) {
      const { id, token } = await app.makeToken(user.id, { last_used_at: minutesAgo(minutes) });
      const before = await usedAt(id);
      const use = recordTokenUse(app.services.db, pino({ level: "silent" }));
      use.record(await rowOf(token));
      await use.stop();
      assert.equal((await usedAt(id)) !== before, written, `${minutes} minutes`);
    }
  });

  test("is written for the token that is used with sudo", async () => {
    const admin = await app.makeUser({ admin: true }, ["api", "sudo"]);
    const user = await app.makeUser();
    assert.equal((await app.get("/user", { token: admin.token, headers: { sudo: user.username } })).status, 200);
    await until("it is written", async () => (await usedAt(admin.tokenId)) !== null);
    assert.equal(await usedAt(user.tokenId), null);
  });

  test("is written for sessions in the same way", async () => {
    const { id: user_id } = await app.makeUser();
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    const last_seen_at = [minutesAgo(9), minutesAgo(11)];
    const digests = last_seen_at.map(() => tokenDigest(newSessionSecret()));
    await app.services.db.write
      .insertInto("sessions")
      .values(
        digests.map((digest, n) => ({ user_id, digest: Buffer.from(digest, "hex"), last_seen_at: last_seen_at[n] })),
      )
      .execute();
    const use = recordTokenUse(app.services.db, pino({ level: "silent" }));
    for (const digest of digests) {
      const row = await sessionByDigest(app.services.db, digest);
      assert.ok(row);
      use.record(row);
    }
    await use.stop();
    const rows = await app.services.db.write
      .selectFrom("sessions")
      .select("last_seen_at")
      .where("user_id", "=", user_id)
      .orderBy("id")
      .execute();
    assert.equal(rows[0]?.last_seen_at, last_seen_at[0]);
    assert.ok(Math.abs(Date.parse(rows[1]?.last_seen_at ?? "") - Date.now()) < 120_000);
    const { last_activity_on } = await app.services.db.write
      .selectFrom("users")
      .select("last_activity_on")
      .where("id", "=", user_id)
      .executeTakeFirstOrThrow();
    assert.equal(last_activity_on, new Date().toISOString().slice(0, 10));
  });
});
