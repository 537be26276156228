import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import Type from "typebox";
import { forbidden, unavailable } from "#lib/refusal.ts";
import type { TestApp } from "#test/support/app.ts";
import { until } from "#test/support/until.ts";
import { deadJobs, redrive } from "./dead.ts";
import { defineJob, type JobContext } from "./define.ts";
import { readTotals } from "./state.ts";
import { job, workerApp, workersOf } from "./test-support.ts";

describe("a worker", () => {
  let app: TestApp;
  const { db, start, stopAll, add, rows, running, gone, clear } = workersOf(() => app);
  before(async () => {
    app = await workerApp();
    await sql`create table ledger (id integer, attempt integer)`.execute(app.services.db.write);
  });
  after(() => app.close());
  beforeEach(async () => {
    await clear();
    await sql`delete from ledger`.execute(db());
  });
  afterEach(stopAll);

  const ledger = async () => {
    const { rows } = await sql<{ id: number }>`select id from ledger order by id`.execute(db());
    return rows.map(({ id }) => id);
  };
  const write = (tx: Parameters<Parameters<JobContext<unknown>["step"]>[0]>[0], id: number) =>
    sql`insert into ledger values (${id}, 1)`.execute(tx);

  test("runs added jobs, and leaves nothing but the count", async () => {
    const seen: number[] = [];
    const done = job("done", async ({ payload, attempt }) => void seen.push(payload.id * 10 + attempt));
    await start(done);
    for (let id = 1; id <= 10; id++) {
      await add(done, id);
      await until("it ran", async () => seen.length === id, undefined, 5);
    }
    assert.deepEqual(seen, [11, 21, 31, 41, 51, 61, 71, 81, 91, 101]);
    await gone();
    assert.deepEqual(await readTotals(db()), { processed: 10, failed: 0 });
  });

  test("runs jobs that were added while no worker ran, and none that was rolled back", async () => {
    const ran: number[] = [];
    const late = job("late", async ({ payload }) => void ran.push(payload.id));
    await add(late, 1);
    await assert.rejects(
      app.services.db.transaction(async (tx) => {
        await app.services.jobs.add(tx, late, { id: 2 });
        throw new Error("no");
      }),
    );
    await start(late);
    await gone();
    await sleep(600);
    assert.deepEqual(ran, [1]);
  });

  test("commits the end of a job with its effect", async () => {
    const both = job("both", async ({ payload, step, transaction }) => {
      await step((tx) => write(tx, payload.id));
      await transaction((tx) => write(tx, payload.id + 1));
    });
    await start(both);
    await add(both, 1);
    await gone();
    assert.deepEqual(await ledger(), [1, 2]);
    assert.deepEqual(await readTotals(db()), { processed: 1, failed: 0 });
  });

  test("an error after the completion of a job has no effect", async () => {
    const after = job("after", async ({ payload, transaction }) => {
      await transaction((tx) => write(tx, payload.id));
      throw new Error("too late");
    });
    await start(after);
    await add(after, 1);
    await gone();
    assert.deepEqual(await ledger(), [1]);
    assert.deepEqual(await readTotals(db()), { processed: 1, failed: 0 });
  });

  test("retries a failed job with growing pauses until it is dead, and it can be retried again", async () => {
    const attempts: number[] = [];
    let well = false;
    const failing = job(
      "failing",
      async ({ attempt, payload, transaction }) => {
        attempts.push(attempt);
        await transaction(async (tx) => {
          await write(tx, payload.id);
          if (!well) throw new Error("not today");
        });
      },
      { retries: 1, backoff: { first: 600, max: 600 } },
    );
    await start(failing);
    await add(failing, 5);
    const waiting = await until("it waits", async () => (await rows()).find(({ state }) => state === "retry"));
    assert.ok(waiting.wait > 0, "a retry is not at once");
    await sql`update jobs.job set start_after = now() where state = 'retry'`.execute(db());
    const dead = await until("it is dead", async () => (await deadJobs(db()))[0]);
    assert.deepEqual(attempts, [1, 2]);
    assert.deepEqual(await ledger(), []);
    assert.deepEqual(
      { queue: dead.queue, job: dead.job, payload: dead.payload, message: dead.message },
      { queue: "default", job: "test.failing", payload: { id: 5 }, message: "Error: not today" },
    );
    assert.deepEqual(await readTotals(db()), { processed: 2, failed: 2 });

    well = true;
    assert.equal(await redrive(app.services.db, app.services.log, "mail"), 0);
    assert.equal(await redrive(app.services.db, app.services.log, "default"), 1);
    await until("it ran", async () => (await ledger()).length > 0);
    assert.deepEqual(await ledger(), [5]);
    assert.deepEqual(attempts, [1, 2, 1]);
    assert.deepEqual(await deadJobs(db()), []);
    assert.deepEqual(await readTotals(db()), { processed: 3, failed: 2 });
  });

  test("runs delayed jobs, retries and rows inserted by others when they are due, without a notification", async () => {
    const ran: number[] = [];
    const early: number[] = [];
    const told = job(
      "told",
      async ({ id: row, attempt, payload: { id } }) => {
        ran.push(id);
        const { rows } = await sql`select from jobs.job where id = ${row} and start_after > now()`.execute(db());
        if (rows.length > 0) early.push(id);
        if (id === 2 && attempt === 1) throw new Error("once more");
      },
      { retries: 3, backoff: { first: 1, max: 1 } },
    );
    await start(told);
    await app.services.db.transaction((tx) => app.services.jobs.add(tx, told, { id: 1 }, { startAfter: 3 }));
    await add(told, 2);
    await sql`insert into jobs.job (name, data) values ('default', '{"job":"test.told","payload":{"id":3}}')`.execute(
      db(),
    );
    await gone();
    assert.deepEqual(
      ran.toSorted((a, b) => a - b),
      [1, 2, 2, 3],
    );
    assert.deepEqual(early, []);
  });

  test("does not retry a refused job, unless the refusal was temporary", async () => {
    const refused = job("refused", async () => {
      throw forbidden();
    });
    const busy = job("busy", async ({ attempt }) => {
      if (attempt === 1) throw unavailable();
    });
    await start(refused, busy);
    await add(refused);
    await add(busy);
    await until("one is dead", async () => (await deadJobs(db())).length > 0);
    await until("one is done", async () => (await readTotals(db())).processed === 3);
    assert.deepEqual(
      (await deadJobs(db())).map((dead) => dead.job),
      ["test.refused"],
    );
  });

  test("a job with an invalid payload is dead, a job of an unknown kind is left to another release", async () => {
    let ran = false;
    const strict = job("strict", async () => void (ran = true));
    const loose = { name: strict.name, queue: strict.queue, payload: Type.Object({ id: Type.String() }) };
    const foreign = job("foreign", async () => {});
    await app.services.db.transaction(async (tx) => {
      await app.services.jobs.add(tx, loose, { id: "seven" });
      await app.services.jobs.add(tx, foreign, { id: 1 });
    });
    await start(strict);
    const [dead] = await until("it is dead", async () => {
      const found = await deadJobs(db());
      return found.length > 0 && found;
    });
    assert.equal(dead?.message, "Error: The payload is no longer valid: /id must be integer");
    assert.equal(ran, false);
    await until("the other waits", async () => (await rows()).some(({ state }) => state === "retry"));
  });

  for (const kind of ["step", "transaction"] as const) {
    test(`an attempt that lost its job cannot commit a ${kind}`, async () => {
      const { promise: stolen, resolve: steal } = Promise.withResolvers<void>();
      const { promise: over, resolve: end } = Promise.withResolvers<unknown>();
      const slow = job("slow", async (context) => {
        if (context.attempt > 1) return;
        try {
          await context[kind](async (tx) => {
            await write(tx, 1);
            await stolen;
          });
          end("committed");
        } catch (error) {
          end(error);
          throw error;
        }
      });
      await start(slow);
      await add(slow);
      await running();
      // The engine does this when it takes a job from a silent worker and gives it to another.
      await sql`update jobs.job set retry_count = retry_count + 1, heartbeat_on = now() where name = 'default'`.execute(
        db(),
      );
      steal();
      assert.match(String(await over), /no longer holds its job/);
      await sleep(200);
      assert.deepEqual(await ledger(), []);
      assert.deepEqual(
        (await rows()).map(({ state, retry_count }) => [state, retry_count]),
        [["active", 1]],
        "nor does it touch the attempt that has it now",
      );
    });
  }

  test("an attempt that lost its job is aborted, and its completion does not count", async () => {
    const { promise: told, resolve: tell } = Promise.withResolvers<void>();
    const slow = job("slow", async ({ signal }) => {
      signal.addEventListener("abort", () => tell());
      await told;
    });
    await start(slow);
    await add(slow);
    await running();
    await sql`update jobs.job set retry_count = retry_count + 1 where name = 'default'`.execute(db());
    await told;
    await sleep(300);
    assert.deepEqual(
      (await rows()).map(({ state }) => state),
      ["active"],
    );
    assert.deepEqual(await readTotals(db()), { processed: 0, failed: 0 });
  });

  test("runs as many jobs of a queue as allowed", async () => {
    let now = 0;
    let most = 0;
    const counted = job(
      "counted",
      async () => {
        most = Math.max(most, ++now);
        await until("as many run as may", async () => most >= 3, undefined, 5);
        await sleep(20);
        now--;
      },
      { queue: "git" },
    );
    await start(counted);
    await app.services.db.transaction(async (tx) => {
      for (let id = 0; id < 60; id++) await app.services.jobs.add(tx, counted, { id });
    });
    await gone();
    assert.equal(most, 3);
  });

  test("a slow job of a batch delays neither the completion of the others nor their count", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const mixed = job("mixed", async ({ payload }) => {
      if (payload.id === 0) await released;
    });
    await app.services.db.transaction(async (tx) => {
      for (let id = 0; id < 5; id++) await app.services.jobs.add(tx, mixed, { id });
    });
    await start(mixed);
    await until("four are done", async () => (await readTotals(db())).processed === 4);
    assert.equal((await rows()).length, 1);
    release();
    await gone();
  });

  test("stops when the running jobs have ended", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    let ended = false;
    const slow = job("slow", async () => {
      await released;
      await sleep(700);
      ended = true;
    });
    const worker = await start(slow);
    await add(slow);
    await running();
    release();
    await worker.stop();
    assert.equal(ended, true);
    assert.deepEqual(await rows(), []);
  });

  test("leaves a running job that does not end to another worker when it stops", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const attempts: number[] = [];
    const stuck = job("stuck", async ({ attempt, payload, transaction }) => {
      attempts.push(attempt);
      if (attempt === 1) await released;
      await transaction((tx) => write(tx, payload.id));
    });
    const worker = await start(stuck);
    await add(stuck);
    await running();
    await worker.stop();
    await start(stuck);
    await until("another did it", async () => (await ledger()).length === 1);
    release();
    await sleep(300);
    assert.deepEqual(attempts, [1, 2]);
    assert.deepEqual(await ledger(), [1], "and the first attempt no longer could");
    assert.deepEqual(await readTotals(db()), { processed: 2, failed: 1 });
  });

  test("each occurrence of a schedule is queued once for all workers", async () => {
    let ticks = 0;
    const ticking = defineJob({
      name: "test.ticking",
      queue: "default",
      payload: Type.Object({}, { additionalProperties: false }),
      cron: "* * * * *",
      run: async () => void ticks++,
    });
    const minute = () => Math.floor(Date.now() / 60_000);
    const began = minute();
    await Promise.all([start(ticking), start(ticking)]);
    await until("it ticked", async () => ticks > 0);
    await sleep(3000);
    const minutes = minute() - began + 1;
    assert.ok(ticks <= minutes, `${ticks} in ${minutes} minutes`);
  });
});
