import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { Client } from "pg";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { migrate } from "./migrate.ts";

describe("migrate", () => {
  let directory: string;
  let url: string;
  let client: Client;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fairlead-migrations-"));
  });
  after(() => rm(directory, { recursive: true }));

  beforeEach(async () => {
    for (const name of ["0001_one.sql", "0002_two.sql", "0003_three.sql"])
      await rm(join(directory, name), { force: true });
    await write("0001_one.sql", "create table one (id bigint primary key);\ninsert into one values (1);\n");
    url = await freshDatabase();
    client = new Client({ connectionString: url });
    await client.connect();
    await client.query("drop schema public cascade; create schema public");
  });

  afterEach(() => client.end());

  const write = (name: string, text: string) => writeFile(join(directory, name), text);
  const run = () => migrate(url, { directory });
  const count = async (table: string) => (await client.query(`select count(*)::integer as n from ${table}`)).rows[0].n;

  it("applies each file once, in order of name", async () => {
    await write("0002_two.sql", "create table two as select id from one;");
    assert.deepEqual(await run(), { applied: ["0001_one.sql", "0002_two.sql"] });
    assert.deepEqual(await run(), { applied: [] });
    await write("0003_three.sql", "create table three as select id from two;");
    assert.deepEqual(await run(), { applied: ["0003_three.sql"] });
    assert.equal(await count("three"), 1);
  });

  it("applies each file once, however many processes start at once", async () => {
    await write("0002_two.sql", "select pg_sleep(0.2); create table two (id bigint);");
    const runs = await Promise.all([run(), run(), run(), run()]);
    const [first, ...others] = runs.map(({ applied }) => applied).toSorted((a, b) => b.length - a.length);
    assert.deepEqual(first, ["0001_one.sql", "0002_two.sql"]);
    assert.deepEqual(others, [[], [], []]);
    assert.equal(await count("one"), 1);
  });

  it("refuses a file that was changed after it was applied", async () => {
    await run();
    await write("0001_one.sql", "create table one (id bigint primary key);\n");
    await assert.rejects(run, /0001_one\.sql was changed after it was applied.*new migration/);
  });

  it("refuses to continue without a file that was applied", async () => {
    await write("0002_two.sql", "select 1;");
    await run();
    await rm(join(directory, "0001_one.sql"));
    await assert.rejects(run, /0001_one\.sql was applied.*missing.*Restore the file/);
  });

  it("lets an older version start on a database that a newer one migrated", async () => {
    await write("0002_two.sql", "select 1;");
    await run();
    await rm(join(directory, "0002_two.sql"));
    assert.deepEqual(await run(), { applied: [] });
  });

  it("refuses a new file that sorts before an applied one", async () => {
    await write("0003_three.sql", "select 1;");
    await run();
    await write("0002_two.sql", "select 1;");
    await assert.rejects(run, /0002_two\.sql is new but sorts before 0003_three\.sql.*higher number/);
  });

  it("rolls back a file that fails, and keeps those before it", async () => {
    await write("0002_two.sql", "create table two (id bigint); select 1 / 0;");
    await assert.rejects(run, /0002_two\.sql failed: division by zero/);
    assert.equal((await client.query("select to_regclass('two') as two")).rows[0].two, null);
    await write("0002_two.sql", "create table two (id bigint);");
    assert.deepEqual(await run(), { applied: ["0002_two.sql"] });
  });

  it("runs a file outside a transaction if its first line says so", async () => {
    await write("0002_two.sql", "-- no transaction\ncreate index concurrently if not exists one_by_id on one (id);\n");
    assert.deepEqual(await run(), { applied: ["0001_one.sql", "0002_two.sql"] });
  });

  it("gives up waiting for a lock early, and retries", async () => {
    await run();
    await write("0002_two.sql", "alter table one add column name text;");
    await client.query("begin; lock table one in access share mode");
    const migrated = run();
    const isAwaited = async () => {
      const { rows } = await client.query(
        "select from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())",
      );
      return rows.length > 0;
    };
    await until("it waits", isAwaited);
    await until("it gives up", async () => !(await isAwaited()));
    await client.query("commit");
    assert.deepEqual(await migrated, { applied: ["0002_two.sql"] });
  });
});
