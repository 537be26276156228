import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client } from "pg";
import { sql } from "kysely";
import { pino } from "pino";
import { PATIENT_DATABASE } from "#test/support/limits.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { openDatabase, type Databases } from "./database.ts";
import { createPartitions, partitionsAhead } from "./partitions.ts";

const monthsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, n) => {
    const today = new Date();
    const month = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + first + n, 1)).toISOString();
    return `audit_events_${month.slice(0, 7).replace("-", "_")}`;
  });

describe("partitions", () => {
  let url: string;
  let db: Databases;
  before(async () => {
    url = await freshDatabase();
    db = openDatabase({ url, log: pino({ level: "silent" }), ...PATIENT_DATABASE });
  });
  after(() => db.close());

  const partitions = async (table: string) => {
    const { rows } = await sql<{ name: string }>`select inhrelid::regclass::text as name
      from pg_inherits where inhparent = ${table}::regclass order by 1`.execute(db.read);
    return rows.map(({ name }) => name);
  };

  it("exist for this month and the next three once a database is migrated", async () => {
    assert.deepEqual(await partitions("audit_events"), monthsFrom(0, 4));
    assert.deepEqual(await db.createPartitions(), []);
    assert.deepEqual(await db.partitionsAhead(), [
      { table: "audit_events", by: "month", ahead: 3, enough: true },
      { table: "events", by: "month", ahead: 3, enough: true },
    ]);
  });

  it("accept rows, with the ids, indexes and rules of their table", async () => {
    const insert = (created_at?: string) =>
      db.write
        .insertInto("audit_events")
        .values({ event: "x", actor_name: "a", request_id: "r", ...(created_at && { created_at }) })
        .returning("id")
        .executeTakeFirstOrThrow();
    const first = await insert();
    assert.ok((await insert()).id > first.id);
    await assert.rejects(insert("2001-01-01T00:00:00Z"), /no partition/);
    await assert.rejects(db.write.deleteFrom("audit_events").execute(), /append-only/);
    const indexesOf = async (table: string | undefined) =>
      (await sql`select from pg_indexes where tablename = ${table}`.execute(db.read)).rows.length;
    assert.equal(await indexesOf(monthsFrom(0, 1)[0]), await indexesOf("audit_events"));
  });

  it("of the audit log cannot be truncated, with their table or alone, and can be dropped when they are old", async () => {
    const names = await partitions("audit_events");
    const [oldest = ""] = monthsFrom(-1, 1);
    await sql
      .raw(`create table ${oldest} partition of audit_events
      for values from ('${oldest.slice(-7).replace("_", "-")}-01') to ('${monthsFrom(0, 1)[0]?.slice(-7).replace("_", "-")}-01')`)
      .execute(db.write);
    for (const name of ["audit_events", ...names])
      await assert.rejects(sql.raw(`truncate ${name}`).execute(db.write), /append-only/, name);
    await sql.raw(`drop table ${oldest}`).execute(db.write);
    const [last = ""] = names.slice(-1);
    await sql.raw(`drop table ${last}`).execute(db.write);
    assert.deepEqual(await db.createPartitions(), [last]);
    await assert.rejects(sql.raw(`truncate ${last}`).execute(db.write), /append-only/, "one that was made later");
  });

  it("that are missing are reported, and created once by concurrent processes", async () => {
    const [next = "", ...later] = monthsFrom(1, 3);
    await sql.raw(`drop table ${[next, ...later].join()}`).execute(db.write);
    const [short] = await db.partitionsAhead();
    assert.deepEqual(short, { table: "audit_events", by: "month", ahead: 0, enough: false });
    const made = await Promise.all([1, 2, 3, 4].map(() => db.createPartitions()));
    assert.deepEqual(made.flat(), [next, ...later]);
    assert.deepEqual(await partitions("audit_events"), monthsFrom(0, 4));
    await sql.raw(`drop table ${next}`).execute(db.write);
    assert.equal((await db.partitionsAhead())[0]?.ahead, 0);
  });

  it("are created by day if a table says so", async () => {
    const tables = [{ table: "daily", by: "day", ahead: 14, least: 7 }] as const;
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query("create table daily (created_at timestamptz(3) not null) partition by range (created_at)");
    assert.equal((await createPartitions(client, tables)).length, 15);
    assert.deepEqual(await partitionsAhead(client, tables), [{ table: "daily", by: "day", ahead: 14, enough: true }]);
    await client.query("insert into daily select now() + n * interval '1 day' from generate_series(0, 14) n");
    const today = `daily_${new Date().toISOString().slice(0, 10).replaceAll("-", "_")}`;
    assert.deepEqual((await client.query(`select count(*)::integer as n from ${today}`)).rows, [{ n: 1 }]);
    await client.end();
  });
});
