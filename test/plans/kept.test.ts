import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { bringUpToDate, isOutdated } from "#bench/support/kept.ts";
import { query } from "#bench/support/seeded.ts";
import type { SeedStep } from "#db/seed.ts";
import { freshDatabase } from "#test/support/postgres.ts";

interface Size {
  readonly rows: number;
}

const step = (name: string, changes: Partial<SeedStep<Size>> = {}): SeedStep<Size> => ({
  name,
  tables: ["follows"],
  statements: ({ rows }) => [
    { text: `insert into kept_${name} select generate_series($1::int, $2::int)`, chunks: { count: rows, size: 2 } },
  ],
  ...changes,
});

describe("a reused seeded database", () => {
  let directory: string;
  let migrations: string;
  let record: string;
  let url: string;
  const size = { rows: 5 };
  const addMigration = (name: string, text: string) => writeFile(join(migrations, name), text);
  const rowsOf = async (name: string) =>
    (await query<{ count: number }>(url, `select count(*)::int as count from kept_${name}`)).rows[0]?.count;
  const update = (...steps: SeedStep<Size>[]) => bringUpToDate({ url, record, steps, size, migrations });

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fairlead-kept-"));
    migrations = join(directory, "migrations");
    record = join(directory, "steps.json");
    await cp(join(import.meta.dirname, "../../migrations"), migrations, { recursive: true });
    url = await freshDatabase();
    await addMigration("9001_first.sql", "create table kept_first (n int)");
    assert.deepEqual(await update(step("first")), { migrations: ["9001_first.sql"], steps: ["first"] });
  });
  after(() => rm(directory, { recursive: true, force: true }));

  test("stays unchanged if nothing is missing", async () => {
    assert.deepEqual(await update(step("first")), { migrations: [], steps: [] });
    assert.equal(await rowsOf("first"), 5);
  });

  test("gets the missing migration and the missing step, and no other", async () => {
    await addMigration("9002_second.sql", "create table kept_second (n int)");
    const done = await update(step("first"), step("second"));
    assert.deepEqual(done, { migrations: ["9002_second.sql"], steps: ["second"] });
    assert.deepEqual([await rowsOf("first"), await rowsOf("second")], [5, 5]);
  });

  test("is recreated if a step changed that others may depend on", async () => {
    const changed = step("first", { statements: () => [{ text: "insert into kept_first values (7)" }] });
    assert.equal(isOutdated({ record, steps: [step("first")], size }), false);
    assert.equal(isOutdated({ record, steps: [changed], size }), true);
    assert.equal(isOutdated({ record, steps: [step("first")], size: { rows: 6 } }), true);
    await assert.rejects(update(changed));
  });

  test("repeats only the changed step if it can be cleared", async () => {
    const statements = () => [{ text: "insert into kept_second values (7)" }];
    const changed = step("second", { statements, clear: "delete from kept_second" });
    assert.equal(isOutdated({ record, steps: [step("first"), changed], size }), false);
    assert.deepEqual((await update(step("first"), changed)).steps, ["second"]);
    assert.deepEqual([await rowsOf("first"), await rowsOf("second")], [5, 1]);
  });

  test("is recreated after a step that did not complete", async () => {
    const broken = step("third", { statements: () => [{ text: "select 1 / 0" }] });
    await assert.rejects(update(step("first"), broken));
    assert.equal(isOutdated({ record, steps: [step("first"), broken], size }), true);
  });
});
