import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { TestApp } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import { job, workerApp, workersOf } from "./test-support.ts";

/** How often a worker looks for jobs that it was not told of, and how often the engine by itself would. */
const POLLED_MS = 1_000;
const ENGINE_POLL_MS = 30_000;

describe("a worker", () => {
  let app: TestApp;
  const { db, start, stopAll, add, running, gone, clear } = workersOf(() => app);
  before(async () => {
    app = await workerApp();
  });
  after(() => app.close());
  beforeEach(clear);
  afterEach(stopAll);

  test("runs an added job at once", async () => {
    let ran = 0;
    const done = job("done", async () => void ran++);
    await start(done);
    const waits: number[] = [];
    for (let id = 1; id <= 10; id++) {
      const began = Date.now();
      await add(done, id);
      await until("it ran", async () => ran === id, undefined, 5);
      waits.push(Date.now() - began);
    }
    // A poll would find one quickly by chance, and the next ones a second later each.
    const third = waits.toSorted((a, b) => a - b)[2] ?? Infinity;
    assert.ok(third < POLLED_MS / 2, `it is told and does not poll (${waits.join(", ")} ms)`);
  });

  test("runs delayed jobs, retries and rows inserted by others soon after they are due, without a notification", async () => {
    const ran = new Map<number, number>();
    const told = job(
      "told",
      async ({ attempt, payload: { id } }) => {
        ran.set(id, Date.now());
        if (id === 2 && attempt === 1) throw new Error("once more");
      },
      { retries: 3, backoff: { first: 1, max: 1 } },
    );
    await start(told);
    const began = Date.now();
    await app.services.db.transaction((tx) => app.services.jobs.add(tx, told, { id: 1 }, { startAfter: 3 }));
    await add(told, 2);
    await sql`insert into jobs.job (name, data) values ('default', '{"job":"test.told","payload":{"id":3}}')`.execute(
      db(),
    );
    await gone();
    const after = (id: number) => (ran.get(id) ?? Number.NaN) - began;
    assert.ok(after(1) >= 2_900, `the later one ${after(1)} ms`);
    for (const id of [1, 2, 3]) assert.ok(after(id) < ENGINE_POLL_MS, `${id} ran after ${after(id)} ms`);
  });

  test("fetches more jobs of a queue at once while there are any", async () => {
    const counted = job("counted", () => sleep(20), { queue: "git" });
    await start(counted);
    await app.services.db.transaction(async (tx) => {
      for (let id = 0; id < 60; id++) await app.services.jobs.add(tx, counted, { id });
    });
    const began = Date.now();
    await gone();
    assert.ok(Date.now() - began < (60 / 3) * POLLED_MS, "it does not poll for each");
  });

  test("waits at most 10 s for a running job when it stops", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const stuck = job("stuck", () => released);
    const worker = await start(stuck);
    await add(stuck);
    await running();
    const began = Date.now();
    await worker.stop();
    const took = Date.now() - began;
    assert.ok(took > 9_500 && took < 60_000, `${took} ms`);
    release();
  });
});
