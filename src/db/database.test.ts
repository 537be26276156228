import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { pino } from "pino";
import { PATIENT_DATABASE } from "#test/support/limits.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { openDatabase, type Databases } from "./database.ts";
import { MAX_PREPARED, statementNames } from "./statements.ts";

const log = pino({ level: "silent" });

describe("the pool", () => {
  let url: string;
  let db: Databases;
  before(async () => {
    url = await freshDatabase();
    db = openDatabase({ url, log, ...PATIENT_DATABASE, poolSize: 1 });
  });
  after(() => db.close());

  /** The texts that the one connection holds prepared, but for this question itself. */
  async function prepared(): Promise<string[]> {
    const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(db.read);
    return rows.map(({ statement }) => statement).filter((text) => !text.includes("pg_prepared_statements"));
  }

  it("prepares each statement once, whatever its values", async () => {
    for (let id = 1; id <= 20; id++) {
      await db.read.selectFrom("users").select("name").where("id", "=", id).execute();
      await db.transaction((tx) =>
        tx
          .updateTable("users")
          .set({ name: `n${id}` })
          .where("id", "=", id)
          .execute(),
      );
      await db.read.selectFrom("settings").select("id").limit(sql.lit(1)).execute();
    }
    const texts = await prepared();
    assert.equal(texts.length, 3, texts.join("\n"));
    assert.ok(db.statementCount() >= texts.length && db.statementCount() <= 4);
  });

  it("prepares no statement of readAnew", async () => {
    const before = await prepared();
    for (const id of [1, 2]) await db.readAnew.selectFrom("users").select("email").where("id", "=", id).execute();
    assert.deepEqual(await prepared(), before);
  });

  it("remembers a bounded number of names, which are derived from the texts", () => {
    const names = statementNames();
    const first = names.of("select 0");
    for (let n = 1; n <= 12_000; n++) names.of(`select ${n}`);
    assert.ok(names.count() <= 5_000);
    assert.equal(names.of("select 0"), first);
  });

  it("closes a connection that holds too many statements, and opens another", async () => {
    const own = openDatabase({ url, log, poolSize: 1 });
    const connection = async () => {
      const { rows } = await sql<{ pid: number; held: number }>`
        select pg_backend_pid() as pid, (select count(*) from pg_prepared_statements) as held`.execute(own.read);
      return rows[0] ?? assert.fail();
    };
    const before = await connection();
    for (let n = 0; n <= MAX_PREPARED; n++) await sql`select ${sql.lit(n)}`.execute(own.read);
    const after = await connection();
    assert.notEqual(after.pid, before.pid);
    assert.ok(after.held < 10);
    await own.close();
  });

  it("starts every session with its settings, whatever the URL says", async () => {
    const own = openDatabase({ url: `${url}&options=-c%20work_mem%3D5MB%20-c%20TimeZone%3DAsia/Tokyo`, log });
    const settings =
      "statement_timeout,lock_timeout,idle_in_transaction_session_timeout,TimeZone,jit,work_mem,application_name";
    const ask = `select ${settings
      .split(",")
      .map((name) => `current_setting('${name}') as "${name}"`)
      .join(", ")}`;
    const expected = {
      statement_timeout: "5s",
      lock_timeout: "1500ms",
      idle_in_transaction_session_timeout: "10s",
      TimeZone: "UTC",
      jit: "off",
      work_mem: "5MB",
      application_name: "fairlead",
    };
    assert.deepEqual((await sql.raw(ask).execute(own.read)).rows, [expected]);
    assert.deepEqual(await own.point.query(ask, []), [{ ...expected, statement_timeout: "250ms" }]);
    await own.close();
  });

  it("runs a transaction again after a deadlock", async () => {
    const pair = openDatabase({ url, log, ...PATIENT_DATABASE, poolSize: 2 });
    await sql`create table locked (id bigint primary key, count integer not null)`.execute(pair.write);
    await sql`insert into locked values (1, 0), (2, 0)`.execute(pair.write);
    let runs = 0;
    let held = 0;
    const { promise: bothHoldOne, resolve: letBothGoOn } = Promise.withResolvers<void>();
    const addTo = (...ids: number[]) =>
      pair.transaction(async (tx) => {
        runs++;
        for (const id of ids) {
          await sql`update locked set count = count + 1 where id = ${id}`.execute(tx);
          if (++held === 2) letBothGoOn();
          await bothHoldOne;
        }
      });
    await Promise.all([addTo(1, 2), addTo(2, 1)]);
    const { rows } = await sql`select count from locked`.execute(pair.read);
    assert.deepEqual(rows, [{ count: 2 }, { count: 2 }]);
    // The one that runs again may meet the other once more.
    assert.ok(runs >= 3, String(runs));
    await pair.close();
  });

  it("rolls back a transaction that failed, and does not retry it", async () => {
    let runs = 0;
    const failing = db.transaction(async (tx) => {
      runs++;
      await tx.insertInto("namespaces").values({ path: "kept", name: "kept" }).execute();
      throw new RangeError("no");
    });
    await assert.rejects(failing, RangeError);
    assert.equal(runs, 1);
    assert.deepEqual(await db.read.selectFrom("namespaces").select("id").where("path", "=", "kept").execute(), []);
  });

  it("continues after a migration changed the columns of a prepared statement", async () => {
    await sql`create table growing (id bigint)`.execute(db.write);
    await sql`insert into growing values (1)`.execute(db.write);
    const all = () => sql`select * from growing`.execute(db.read);
    const one = () => db.point.query("select * from growing", []);
    const inside = () => db.transaction((tx) => sql`select * from growing where id > ${0}`.execute(tx));
    for (const ask of [all, one, one, inside]) await ask();
    await sql`alter table growing add column name text default 'x'`.execute(db.write);
    assert.deepEqual((await all()).rows, [{ id: 1, name: "x" }]);
    assert.deepEqual((await inside()).rows, [{ id: 1, name: "x" }]);
    assert.deepEqual(await one(), [{ id: 1, name: "x" }]);
    assert.deepEqual(await one(), [{ id: 1, name: "x" }]);
  });

  it("leaves no connection behind when it is closed", async () => {
    const closing = openDatabase({ url: `${url}&application_name=closing`, log });
    await Promise.all([1, 2, 3].map(() => sql`select pg_sleep(0.01)`.execute(closing.read)));
    await closing.point.query("select 1", []);
    await closing.close();
    await until("PostgreSQL has noticed", async () => {
      const { rows } = await sql`select from pg_stat_activity where application_name = 'closing'`.execute(db.read);
      return rows.length === 0;
    });
  });
});
