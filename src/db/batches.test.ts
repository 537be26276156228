import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { Refusal } from "#lib/refusal.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import type { BatchedWrite } from "./batches.ts";

interface Row {
  readonly key: string;
  readonly value: number;
  readonly action?: string;
  readonly owner?: number;
}

describe("batched writes", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp();
    await sql`create table batched (key text, value integer check (value >= 0))`.execute(app.services.db.write);
  });
  after(() => app.close());

  /** A write that records its batches; each returns the values as text. */
  function recorded(limits: Partial<BatchedWrite<Row, string>> = {}) {
    const batches: Row[][] = [];
    const batched: BatchedWrite<Row, string> = {
      maxRows: 100,
      maxWaiting: { rows: { each: 1000, all: 1000 }, bytes: { each: 1e6, all: 1e6 } },
      owner: ({ owner = 1 }) => owner,
      bytes: () => 1,
      keyOf: ({ key, action = "add" }) => ({ key, action }),
      async write(run, rows) {
        batches.push([...rows]);
        const values = [rows.map(({ key }) => key), rows.map(({ value }) => value)];
        await run("insert into batched select * from unnest($1::text[], $2::integer[])", values);
        return rows.map(({ value }) => String(value));
      },
      ...limits,
    };
    return { batches, write: (row: Row) => app.services.db.batched(batched, row) };
  }

  const valuesOf = (batches: readonly Row[][]) => batches.map((rows) => rows.map(({ value }) => value));

  test("the first is written at once, and what arrives meanwhile together", async () => {
    const { batches, write } = recorded();
    const results = await Promise.all([0, 1, 2, 3].map((value) => write({ key: `k${value}`, value })));
    assert.deepEqual(results, ["0", "1", "2", "3"]);
    assert.deepEqual(valuesOf(batches), [[0], [1, 2, 3]]);
    const { rows } = await sql<{ value: number }>`select value from batched order by value`.execute(
      app.services.db.write,
    );
    assert.equal(rows.length, 4);
  });

  test("no statement has more rows than it may", async () => {
    const { batches, write } = recorded({ maxRows: 2 });
    await Promise.all([0, 1, 2, 3, 4].map((value) => write({ key: `k${value}`, value })));
    assert.deepEqual(valuesOf(batches), [[0], [1, 2], [3, 4]]);
  });

  test("rows of one key are written in their order, apart if their actions differ", async () => {
    const { batches, write } = recorded();
    const rows = ["add", "add", "end", "add", "add"].map((action, value) => ({ key: "same", action, value }));
    await Promise.all([...rows, { key: "other", value: 9 }].map(write));
    assert.deepEqual(valuesOf(batches), [[0], [1, 9], [2], [3, 4]]);
  });

  test("a row that the database refuses fails alone", async () => {
    const { write } = recorded();
    const outcomes = await Promise.allSettled([1, 2, -1, 3].map((value) => write({ key: `k${value}`, value })));
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "fulfilled", "rejected", "fulfilled"],
    );
  });

  test("beyond the rows and bytes that may wait, of one owner and of all, more are refused", async () => {
    const refused = async (limits: BatchedWrite<Row, string>["maxWaiting"], bytes: number) => {
      const { write } = recorded({ maxWaiting: limits, bytes: () => bytes });
      const rows = [1, 1, 1, 2, 2, 2].map((owner, value) => ({ key: `k${value}`, value, owner }));
      const outcomes = await Promise.allSettled(rows.map(write));
      for (const outcome of outcomes) {
        if (outcome.status === "fulfilled") continue;
        assert.ok(outcome.reason instanceof Refusal && outcome.reason.kind === "unavailable");
      }
      // What was written makes room again.
      assert.equal(await write({ key: "later", value: 7 }), "7");
      return outcomes.map(({ status }) => (status === "fulfilled" ? 1 : 0)).join("");
    };
    const wide = { each: 1e9, all: 1e9 };
    assert.equal(await refused({ rows: { each: 2, all: 9 }, bytes: wide }, 1), "110110");
    assert.equal(await refused({ rows: { each: 9, all: 4 }, bytes: wide }, 1), "111100");
    assert.equal(await refused({ rows: wide, bytes: { each: 20, all: 90 } }, 10), "110110");
    assert.equal(await refused({ rows: wide, bytes: { each: 90, all: 40 } }, 10), "111100");
    assert.equal(await refused({ rows: wide, bytes: { each: 5, all: 90 } }, 10), "100100");
  });

  test("a connection that breaks fails what was being written, and is replaced", async () => {
    const { write } = recorded();
    await write({ key: "k", value: 1 });
    const cut = sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like 'insert into batched select%' and pid <> pg_backend_pid()`;
    await cut.execute(app.services.db.write);
    await until("it is written again", () =>
      write({ key: "k", value: 2 }).then(
        () => true,
        () => false,
      ),
    );
  });
});
