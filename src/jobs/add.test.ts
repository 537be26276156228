import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { sql } from "kysely";
import Type from "typebox";
import { elsewhere } from "#test/support/elsewhere.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { defineJob } from "./define.ts";

const work = { queue: "default", payload: Type.Object({ id: Type.Integer() }), run: async () => {} } as const;
const plain = defineJob({ ...work, name: "test.plain" });
const keyed = defineJob({ ...work, name: "test.keyed", key: ({ id }) => String(id) });
const stubborn = defineJob({ ...work, name: "test.stubborn", retries: 3, backoff: { first: 7, max: 70 } });

interface Row {
  readonly data: { job: string; payload: { id: number } };
  readonly retry_limit: number;
  readonly retry_delay: number;
  readonly retry_delay_max: number;
  readonly start_after: string;
  readonly wait: number;
}

describe("adding jobs", () => {
  let app: TestApp;
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
  });
  after(() => app.close());
  beforeEach(() => sql`delete from jobs.job`.execute(app.services.db.write));

  const add: TestApp["services"]["jobs"]["add"] = (...given) => app.services.jobs.add(...given);
  const inTransaction = (work: Parameters<TestApp["services"]["db"]["transaction"]>[0]) =>
    app.services.db.transaction(work);
  const waiting = async () => {
    const { rows } = await sql<Row>`
      select data, retry_limit, retry_delay, retry_delay_max, start_after,
        extract(epoch from start_after - created_on)::integer as wait
      from jobs.job order by created_on`.execute(app.services.db.write);
    return rows;
  };

  test("a job is queued once its transaction has committed", async () => {
    await inTransaction(async (tx) => {
      await add(tx, plain, { id: 1 });
      assert.deepEqual(await elsewhere(app.services.db, waiting), []);
    });
    const [row, ...more] = await waiting();
    assert.deepEqual(row?.data, { job: "test.plain", payload: { id: 1 } });
    assert.equal(row.wait, 0);
    assert.deepEqual(more, []);
  });

  test("a job of a transaction that is rolled back is not queued", async () => {
    await assert.rejects(
      inTransaction(async (tx) => {
        await add(tx, plain, { id: 1 });
        throw new Error("no");
      }),
      /^Error: no$/,
    );
    assert.deepEqual(await waiting(), []);
  });

  test("a payload that does not match the schema is refused", async () => {
    await assert.rejects(
      inTransaction((tx) => add(tx, plain, { id: "one" } as never)),
      /^TypeError: The payload of the job test\.plain is invalid: \/id must be integer$/,
    );
    assert.deepEqual(await waiting(), []);
  });

  test("one job of a key waits, with the last payload; without a key every job waits", async () => {
    await inTransaction(async (tx) => {
      for (const id of [1, 1, 2]) await add(tx, keyed, { id });
    });
    await inTransaction((tx) => add(tx, keyed, { id: 1 }));
    assert.deepEqual(
      (await waiting()).map(({ data }) => data.payload.id).toSorted((a, b) => a - b),
      [1, 2],
    );
    await inTransaction(async (tx) => {
      for (const id of [1, 1]) await add(tx, plain, { id });
    });
    assert.equal((await waiting()).length, 4);
  });

  test("one job of a key waits, even if several are added concurrently", async () => {
    await Promise.all(Array.from({ length: 8 }, () => inTransaction((tx) => add(tx, keyed, { id: 1 }))));
    assert.equal((await waiting()).length, 1);
  });

  test("a job is queued while another of its key runs", async () => {
    await inTransaction((tx) => add(tx, keyed, { id: 1 }));
    await sql`update jobs.job set state = 'active'`.execute(app.services.db.write);
    await inTransaction((tx) => add(tx, keyed, { id: 1 }));
    assert.equal((await waiting()).length, 2);
  });

  test("a job can be queued for later", async () => {
    const date = new Date(Date.now() + 60_000);
    await inTransaction(async (tx) => {
      await add(tx, plain, { id: 1 }, { startAfter: 3600 });
      await add(tx, plain, { id: 2 }, { startAfter: date });
    });
    const [hour, minute] = await waiting();
    assert.equal(hour?.wait, 3600);
    assert.equal(minute?.start_after, date.toISOString());
  });

  test("a job has the retries of its queue, unless it defines its own", async () => {
    await inTransaction(async (tx) => {
      await add(tx, plain, { id: 1 });
      await add(tx, stubborn, { id: 2 });
    });
    const retries = (await waiting()).map((row) => [row.retry_limit, row.retry_delay, row.retry_delay_max]);
    assert.deepEqual(retries, [
      [20, 1, 3600],
      [3, 7, 70],
    ]);
  });

  test("as many transactions as the pool has connections can each add their first job concurrently", async () => {
    const other = await testApp({ databaseUrl: app.services.databaseUrl });
    try {
      const { jobs, db, config } = other.services;
      // One that waited for a connection that another one held would be refused.
      await Promise.all(
        Array.from({ length: config.poolSize * 2 }, (_, id) => db.transaction((tx) => jobs.add(tx, plain, { id }))),
      );
      assert.equal((await waiting()).length, config.poolSize * 2);
    } finally {
      await other.close();
    }
  });
});
