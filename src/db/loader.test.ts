import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { sql } from "kysely";
import { pino } from "pino";
import { PATIENT_DATABASE } from "#test/support/limits.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { openDatabase, type Databases } from "./database.ts";
import { bigints, digests, loader, texts, type Lookup } from "./loader.ts";
import type { PointReads } from "./point.ts";

interface Item {
  readonly id: number;
  readonly name: string;
  readonly digest: string;
}

const COLUMNS = "select id, name, encode(digest, 'hex') as digest from items";
const ITEMS = 2_000;
const byId: Lookup<number, Item> = {
  text: `${COLUMNS} where id = any($1::bigint[])`,
  keys: bigints,
  key: (row) => row.id,
};
const byName: Lookup<string, Item> = {
  text: `${COLUMNS} where name = any($1::text[])`,
  keys: texts,
  key: (row) => row.name,
};
const byDigest: Lookup<string, Item> = {
  text: `${COLUMNS} where digest = any($1::bytea[])`,
  keys: digests,
  key: (row) => row.digest,
};
/** As `byId`, but the statement sees the rows as they are at its start and ends later. */
const slowly: Lookup<number, Item> = { ...byId, text: `${byId.text} and (select pg_sleep(0.1)) is not null` };

describe("a loader", () => {
  let db: Databases;
  before(async () => {
    db = openDatabase({ url: await freshDatabase(), log: pino({ level: "silent" }), ...PATIENT_DATABASE });
    await sql`create table items (id bigint primary key, name text not null unique, digest bytea not null)`.execute(
      db.write,
    );
    await sql`create unique index items_by_digest on items (digest)`.execute(db.write);
    await sql`insert into items select n, 'name "' || n || '\\', sha256(convert_to(n::text, 'UTF8'))
      from generate_series(1, ${ITEMS}::integer) n`.execute(db.write);
    await sql`analyze items`.execute(db.write);
  });
  after(() => db.close());

  /** The real reads, with a note of the size of each batch and of how many ran at once. */
  function watched() {
    const seen = { batches: 0, running: 0, mostRunning: 0 };
    const point: Pick<PointReads, "query"> = {
      async query<Row>(text: string, values: unknown[]) {
        seen.batches++;
        seen.mostRunning = Math.max(seen.mostRunning, ++seen.running);
        try {
          return await db.point.query<Row>(text, values);
        } finally {
          seen.running--;
        }
      },
    };
    return { seen, point };
  }

  it("returns the row of its own key to every caller, however calls are batched", async () => {
    const key = fc.integer({ min: 1, max: ITEMS + 200 });
    const turns = fc.array(fc.array(key, { maxLength: 40 }), { maxLength: 8 });
    const { seen, point } = watched();
    const load = loader(point, byId);
    await fc.assert(
      fc.asyncProperty(turns, async (keysOfTurns) => {
        const answers: Promise<void>[] = [];
        for (const keys of keysOfTurns) {
          for (const id of keys) {
            answers.push(load(id).then((row) => assert.equal(row?.id, id <= ITEMS ? id : undefined)));
          }
          await turn();
        }
        await Promise.all(answers);
      }),
      { numRuns: 100 },
    );
    assert.equal(seen.mostRunning, 2);
  });

  it("batches the calls of one turn into one statement, and equal keys into one row", async () => {
    const { seen, point } = watched();
    const load = loader(point, byId);
    const [one, two, again, none] = await Promise.all([load(1), load(2), load(1), load(ITEMS + 1)]);
    assert.deepEqual([one?.id, two?.id, none], [1, 2, undefined]);
    assert.equal(again, one);
    assert.equal(seen.batches, 1);
  });

  it("sends at most 500 keys at a time and two batches at once", async () => {
    const { seen, point } = watched();
    const load = loader(point, slowly);
    const rows = await Promise.all(Array.from({ length: ITEMS }, (_, n) => load(n + 1)));
    assert.deepEqual(
      rows.map((row) => row?.id),
      Array.from({ length: ITEMS }, (_, n) => n + 1),
    );
    assert.deepEqual([seen.batches, seen.mostRunning], [4, 2]);
  });

  it("never lets a call join a batch that is already sent", async () => {
    const held = `${byId.text} and (select pg_advisory_xact_lock_shared(7)) is not null`;
    const load = loader(db.point, { ...byId, text: held });
    const { early, late } = await db.transaction(async (tx) => {
      await sql`select pg_advisory_xact_lock(7)`.execute(tx);
      const early = load(7);
      await until("it is read", async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`.execute(tx);
        return rows.length > 0;
      });
      await sql`update items set name = 'changed' where id = 7`.execute(db.write);
      return { early, late: load(7) };
    });
    assert.equal((await early)?.name, 'name "7\\');
    assert.equal((await late)?.name, "changed");
  });

  it("fails only the calls of a batch that fails", async () => {
    const load = loader(db.point, { ...byId, text: `${byId.text} and 1 / (id - 5) is not null` });
    const failing = Promise.allSettled([load(5), load(6)]);
    await turn();
    await turn();
    const other = load(8);
    for (const failed of await failing)
      assert.match(String((failed as PromiseRejectedResult).reason), /division by zero/);
    assert.equal((await other)?.id, 8);
    assert.equal((await load(6))?.id, 6);
  });

  it("finds no row for a key that PostgreSQL would refuse", async () => {
    const numbers = loader(db.point, byId);
    const names = loader(db.point, byName);
    const hexes = loader(db.point, byDigest);
    const impossible = [
      numbers(2 ** 70),
      numbers(0.5),
      numbers(Number.NaN),
      names("a\0"),
      hexes("xyz"),
      hexes(""),
      hexes("abc"),
    ];
    const [row] = await Promise.all([
      numbers(1),
      ...impossible.map(async (none) => assert.equal(await none, undefined)),
    ]);
    assert.equal(row?.id, 1);
  });

  it("finds rows by text and by digest", async () => {
    const row = await db.point.load(byId, 9);
    assert.ok(row);
    assert.deepEqual(await db.point.load(byName, row.name), row);
    assert.deepEqual(await db.point.load(byDigest, row.digest), row);
  });

  for (const mode of ["force_generic_plan", "force_custom_plan"]) {
    it(`is answered from the index under ${mode}`, async () => {
      const plan = await db.transaction(async (tx) => {
        await sql.raw(`set local plan_cache_mode = ${mode}`).execute(tx);
        await sql.raw(`prepare ${mode} (bytea[]) as ${byDigest.text}`).execute(tx);
        return sql.raw(`explain execute ${mode} ('{"\\\\x00","\\\\x01"}')`).execute(tx);
      });
      assert.match(JSON.stringify(plan.rows), /Index Scan (?:using|on) items_by_digest/);
    });
  }
});
