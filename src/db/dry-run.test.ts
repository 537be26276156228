import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Client } from "pg";
import { freshDatabase } from "#test/support/postgres.ts";
import { rehearseMigrations } from "./dry-run.ts";
import { migrate } from "./migrate.ts";

describe("a rehearsal of migrations", () => {
  let directory: string;
  let url: string;
  let client: Client;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fairlead-migrations-"));
    url = await freshDatabase();
    client = new Client({ connectionString: url });
    await client.connect();
    await client.query("drop schema public cascade; create schema public");
    await write("0001_one.sql", "create table one (id bigint primary key); create table old (id bigint);");
    await migrate(url, { directory });
  });
  after(async () => {
    await client.end();
    await rm(directory, { recursive: true });
  });

  const write = (name: string, text: string) => writeFile(join(directory, name), text);
  const rehearse = async () =>
    (await rehearseMigrations(url, directory)).map((each) => ("ms" in each ? { ...each, ms: 0 } : each));

  test("names what would run and the locks on existing tables, and changes nothing", async () => {
    assert.deepEqual(await rehearse(), []);
    await write("0002_two.sql", "create table two as select id from one;");
    await write(
      "0003_three.sql",
      "-- no transaction\ncreate index concurrently if not exists one_by_id on one (id);\n",
    );
    await write("0004_four.sql", "alter table one add column name text; update two set id = 1; drop table old;");
    assert.deepEqual(await rehearse(), [
      { name: "0002_two.sql", ms: 0, locks: ["ACCESS SHARE on one"] },
      { name: "0003_three.sql", statement: "create index concurrently if not exists one_by_id on one (id);" },
      { name: "0004_four.sql", ms: 0, locks: ["ACCESS EXCLUSIVE on old", "ACCESS EXCLUSIVE on one"] },
    ]);
    const { rows } = await client.query("select to_regclass('two') as two, to_regclass('old') as old");
    assert.deepEqual(rows, [{ two: null, old: "old" }]);
    assert.equal((await migrate(url, { directory })).applied.length, 3);
    assert.deepEqual(await rehearse(), []);
  });

  test("tells which one would fail", async () => {
    await write("0005_five.sql", "select 1 / 0;");
    await assert.rejects(rehearse, /^Error: Migration 0005_five\.sql would fail: division by zero$/);
    await rm(join(directory, "0005_five.sql"));
  });
});
