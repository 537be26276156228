import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { pino } from "pino";
import { freshDatabase } from "#test/support/postgres.ts";
import { openDatabase, type Databases } from "./database.ts";
import { refusalOf } from "./errors.ts";

describe("point reads", () => {
  let db: Databases;
  before(async () => {
    db = openDatabase({ url: await freshDatabase(), log: pino({ level: "silent" }) });
  });
  after(() => db.close());

  const pid = async () => (await db.point.query<{ pid: number }>("select pg_backend_pid() as pid", []))[0]?.pid ?? 0;
  const pids = async () => new Set(await Promise.all([pid(), pid(), pid(), pid()]));
  const end = (process: number) => sql`select pg_terminate_backend(${process})`.execute(db.write);

  it("share two connections that take statements before the last one is answered", async () => {
    assert.equal((await pids()).size, 2);
    const began = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        db.point.query("select $1::integer as n, pg_sleep(0.001) is null as slept", [n]),
      ),
    );
    assert.deepEqual(
      answers,
      Array.from({ length: 50 }, (_, n) => [{ n, slept: false }]),
    );
    assert.ok(performance.now() - began < 1_000);
  });

  it("prepare each statement once a connection", async () => {
    for (let n = 0; n < 20; n++) await db.point.query("select $1::integer as n", [n]);
    const held = await db.point.query<{ count: number }>(
      "select count(*) as count from pg_prepared_statements where statement = 'select $1::integer as n'",
      [],
    );
    assert.deepEqual(held, [{ count: 1 }]);
  });

  it("fail alone when their statement fails", async () => {
    const answers = await Promise.allSettled(
      [1, 0, 2, 0, 4].map((n) => db.point.query("select 4 / $1::integer as quarter", [n])),
    );
    assert.deepEqual(
      answers.map(({ status }) => status === "fulfilled"),
      [true, false, true, false, true],
    );
  });

  it("go on over the other connection when one breaks, and over both again soon", async () => {
    const [first = 0, second = 0] = await pids();
    const asked = Array.from({ length: 20 }, () => db.point.query("select pg_sleep(0.005) is null as slept", []));
    await end(first);
    await Promise.all(asked);
    await sleep(300);
    const now = await pids();
    assert.ok(now.size === 2 && now.has(second) && !now.has(first), [...now].join());
  });

  it("are refused at once while both connections are broken, and work again soon", async () => {
    for (const process of await pids()) await end(process);
    await sleep(20);
    const began = performance.now();
    assert.equal(refusalOf(await pid().catch((error: unknown) => error))?.kind, "unavailable");
    assert.ok(performance.now() - began < 20);
    await sleep(300);
    assert.equal((await pids()).size, 2);
  });
});
