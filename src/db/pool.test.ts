import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { sql } from "kysely";
import { pino } from "pino";
import { consumerOf } from "#lib/consumer.ts";
import { PATIENT_DATABASE } from "#test/support/limits.ts";
import { testDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { type Databases, openDatabase, type Tx } from "./database.ts";

const SIZE = 4;

describe("the connections of the pool", () => {
  let db: Databases;
  before(async () => {
    const log = pino({ level: "silent" });
    const anonymous = { anonymousPoolSize: 2, anonymousTimeout: 120_001 };
    db = openDatabase({ ...PATIENT_DATABASE, url: await testDatabase(), log, poolSize: SIZE, ...anonymous });
  });
  after(() => db.close());

  const anna = consumerOf("192.0.2.1", "user 1");
  const bert = consumerOf("198.51.100.1", "user 2");
  const nobody = consumerOf("203.0.113.1");
  type Caller = typeof anna;
  const on = <T>(consumer: Caller, work: () => T, reads = true) =>
    db.onBehalfOf({ consumer: () => consumer, reads }, work);

  /** Holds a connection until it is let go. */
  async function hold(consumer: Caller, reads = false) {
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const work = on(
      consumer,
      () =>
        db.transaction(async () => {
          begun.resolve();
          await ended.promise;
        }),
      reads,
    );
    return { begun: begun.promise, end: () => (ended.resolve(), work) };
  }
  const isPending = (promise: Promise<unknown>) => Promise.race([promise.then(() => false), turn(true)]);
  const ask = async () => (await sql<{ n: number }>`select 1 as n`.execute(db.read)).rows[0]?.n;

  it("are at most half in the hands of one principal, and others get theirs at once", async () => {
    const held = await Promise.all([1, 2, 3].map(() => hold(anna)));
    await Promise.all(held.slice(0, 2).map(({ begun }) => begun));
    const third = held[2];
    assert.ok(third && (await isPending(third.begun)), "the third waits");
    assert.equal(db.poolUsage().waiting, 1);
    assert.equal(await on(bert, ask), 1);
    await held[0]?.end();
    await third.begun;
    await Promise.all(held.map(({ end }) => end()));
  });

  it("are others for reads of anonymous callers, with a timeout of their own", async () => {
    const timeout = async () =>
      (await sql<{ statement_timeout: string }>`show statement_timeout`.execute(db.read)).rows[0]?.statement_timeout;
    assert.equal(await on(nobody, timeout), "120001ms");
    assert.equal(await on(nobody, timeout, false), "2min");
    assert.equal(await on(anna, timeout), "2min");
    const held = await hold(nobody, true);
    await held.begun;
    const { open, idle } = db.poolUsage();
    assert.equal(open - idle, 0);
    await held.end();
  });

  it("are at most a quarter in the hands of the anonymous callers of one network", async () => {
    const held = await Promise.all([hold(nobody), hold(nobody)]);
    await held[0]?.begun;
    assert.ok(held[1] && (await isPending(held[1].begun)));
    const other = await hold(consumerOf("192.0.2.77"));
    await other.begun;
    await other.end();
    await held[0]?.end();
    await held[1].begun;
    await held[1].end();
  });

  it("are not taken by a transaction that has one, where that is checked", async () => {
    const checked = openDatabase({
      ...{ ...PATIENT_DATABASE, url: await testDatabase(), log: pino({ level: "silent" }) },
      assertions: true,
    });
    const other = (tx: Tx) => sql`select 1`.execute(tx).then(() => sql`select 1`.execute(checked.write));
    await assert.rejects(checked.transaction(other), /second connection/);
    await assert.rejects(
      checked.transaction(() => checked.transaction(other)),
      /second connection/,
    );
    // What goes on after the transaction has ended is not in it any more.
    const { promise, resolve } = Promise.withResolvers<void>();
    let late: Promise<unknown> | undefined;
    await checked.transaction(async () => void (late = promise.then(() => sql`select 1`.execute(checked.write))));
    resolve();
    await late;
    await until("all are idle", async () => checked.poolUsage().open === checked.poolUsage().idle);
    await checked.close();
  });
});
