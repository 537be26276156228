import assert from "node:assert/strict";
import { hostname } from "node:os";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { QUEUES } from "#jobs/queues.ts";
import { start } from "#test/support/command.ts";
import { type TestApp, testApp, type TestUser } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { failingJob, holdingJob, startWorker, type WorkerProcess } from "#test/support/worker.ts";

interface Process {
  readonly hostname: string;
  readonly pid: number;
  readonly queues: string[];
  readonly concurrency: number;
  readonly busy: number;
}

describe("job metrics", () => {
  let app: TestApp;
  let admin: TestUser;
  const workers: WorkerProcess[] = [];
  before(async () => {
    app = await testApp({ databaseUrl: await freshDatabase() });
    admin = await app.makeUser({ admin: true });
    await sql`create table gate ()`.execute(app.services.db.write);
  });
  after(async () => {
    await Promise.all(workers.map((worker) => worker.end("SIGKILL")));
    await app.close();
  });

  const read = async (path: string) => {
    const { status, body } = await app.get(path, { token: admin.token });
    assert.equal(status, 200);
    return body;
  };
  const stats = async () => (await read("/jobqueue/job_stats")).jobs;
  const processes = async (): Promise<Process[]> => (await read("/jobqueue/process_metrics")).processes;
  const busy = async () => Object.fromEntries((await processes()).map(({ pid, busy }) => [pid, busy]));
  const add = (kind: typeof holdingJob, count = 1, startAfter?: number) =>
    app.services.db.transaction(async (tx) => {
      for (let i = 0; i < count; i++) {
        await app.services.jobs.add(tx, kind, {}, startAfter === undefined ? {} : { startAfter });
      }
    });
  const open = () => sql`insert into gate default values`.execute(app.services.db.write);
  const shut = () => sql`delete from gate`.execute(app.services.db.write);
  const working = async (...queues: Parameters<typeof startWorker>[1][]) => {
    const worker = await startWorker(app.services.databaseUrl, ...queues);
    workers.push(worker);
    return worker;
  };

  test("without a worker: every queue with its backlog and latency, and no process", async () => {
    await add(holdingJob, 3);
    await add(holdingJob, 2, 3600);
    await sql`update jobs.job set start_after = start_after - interval '65.9 s' where start_after <= now()`.execute(
      app.services.db.write,
    );
    const { queues } = await read("/jobqueue/queue_metrics");
    assert.deepEqual(Object.keys(queues).toSorted(), QUEUES.toSorted());
    const { latency, backlog } = queues.default;
    assert.equal(backlog, 3);
    assert.ok(latency >= 65 && latency < 120, String(latency));
    for (const name of QUEUES.filter((queue) => queue !== "default")) {
      assert.deepEqual(queues[name], { backlog: 0, latency: 0 }, name);
    }
    assert.deepEqual(await processes(), []);
    assert.deepEqual(await stats(), { processed: 0, failed: 0, enqueued: 3, dead: 0 });
  });

  test("the compound endpoint has all three, and the alias paths answer the same", async () => {
    const compound = await read("/jobqueue/compound_metrics");
    assert.deepEqual(Object.keys(compound), ["queues", "processes", "jobs"]);
    assert.equal(compound.jobs.enqueued, 3);
    for (const path of ["queue_metrics", "process_metrics", "job_stats", "compound_metrics"]) {
      const [ours, theirs] = [await read(`/jobqueue/${path}`), await read(`/sidekiq/${path}`)];
      assert.deepEqual(Object.keys(theirs), Object.keys(ours), path);
    }
    assert.deepEqual((await read("/sidekiq/job_stats")).jobs, await stats());
    assert.equal((await app.get("/sidekiq/job_stats")).status, 401);
    assert.equal((await app.post("/sidekiq/job_stats", { token: admin.token })).status, 405);
    assert.equal((await app.get("/sidekiqs/job_stats", { token: admin.token })).status, 404);
  });

  test("two workers: each with its busy count and concurrency, and the totals of both", async () => {
    const [one, two] = [await working("default"), await working("critical", "default")];
    const found = await until("three are held by two", async () => {
      const running = await processes();
      const held = running.reduce((sum, { busy }) => sum + busy, 0);
      return running.length === 2 && held === 3 && running.toSorted((a, b) => a.concurrency - b.concurrency);
    });
    assert.deepEqual(
      found.map(({ pid, queues, concurrency }) => ({ pid, queues, concurrency })),
      [
        { pid: one.pid, queues: ["default"], concurrency: 7 },
        { pid: two.pid, queues: ["critical", "default"], concurrency: 10 },
      ],
    );
    const [first] = await processes();
    assert.equal(first?.hostname, hostname());
    assert.deepEqual(Object.keys(first ?? {}), [
      "hostname",
      "pid",
      "tag",
      "started_at",
      "queues",
      "labels",
      "concurrency",
      "busy",
    ]);
    assert.deepEqual((await read("/jobqueue/queue_metrics")).queues.default, { backlog: 0, latency: 0 });

    await open();
    await until("all is done", async () => Object.values(await busy()).every((held) => held === 0));
    assert.deepEqual(await stats(), { processed: 3, failed: 0, enqueued: 0, dead: 0 });
    await add(failingJob, 2);
    await until("they are dead", async () => (await stats()).dead === 2);
    assert.deepEqual(await stats(), { processed: 7, failed: 4, enqueued: 0, dead: 2 });
  });

  test("a killed worker disappears, its job runs again, and the attempt counts as failed", async () => {
    await shut();
    await add(holdingJob);
    const [pid] = await until("one holds it", async () => {
      const holders = (await processes()).filter(({ busy }) => busy === 1);
      return holders.length === 1 && holders.map(({ pid }) => pid);
    });
    await workers.find((worker) => worker.pid === pid)?.end("SIGKILL");
    // A process is listed until it has missed three heartbeats of ten seconds, and holds its job for one.
    await sql`update jobs.instance set heartbeat_on = heartbeat_on - interval '30 s' where pid = ${pid}`.execute(
      app.services.db.write,
    );
    await sql`update jobs.job set heartbeat_on = heartbeat_on - interval '10 s' where state = 'active'`.execute(
      app.services.db.write,
    );
    const holdsIt = async () => {
      const held = await busy();
      return held[pid ?? 0] === undefined && Object.values(held)[0] === 1;
    };
    await until("the other holds it", holdsIt);
    await open();
    await until("it is done", async () => Object.values(await busy()).every((held) => held === 0));
    assert.deepEqual(await stats(), { processed: 9, failed: 5, enqueued: 0, dead: 2 });
  });

  test("a restart changes no total; the worker command runs and logs when it has stopped", async () => {
    // The command also schedules jobs, and one for another queue may fall due meanwhile.
    const totals = async () => ({ ...(await stats()), enqueued: 0 });
    const before = await totals();
    for (const worker of workers.splice(0)) await worker.end("SIGTERM");
    assert.deepEqual(await processes(), []);
    const command = start(["worker", "--queues", "mail,git"], { FAIRLEAD_DATABASE_URL: app.services.databaseUrl });
    try {
      await command.says(/"msg":"working on mail, git"/);
      const { queues, concurrency, busy } = await until("it is registered", async () => (await processes())[0]);
      assert.deepEqual({ queues, concurrency, busy }, { queues: ["git", "mail"], concurrency: 7, busy: 0 });
      assert.deepEqual(await totals(), before);
    } finally {
      assert.equal((await command.stop()).code, 0);
    }
    assert.deepEqual(await processes(), []);
  });

  test("the Prometheus metrics agree", async () => {
    const { text } = await app.get("/-/metrics", { remoteAddress: "127.0.0.1" });
    const figures = text
      .split("\n")
      .filter((line) => line.startsWith("fairlead_jobs"))
      .join("\n");
    assert.match(figures, /^fairlead_jobs_processed_total 9$/m);
    assert.match(figures, /^fairlead_jobs_failed_total 5$/m);
    assert.match(figures, /^fairlead_jobs_dead 2$/m);
    assert.match(figures, /^fairlead_jobs_backlog\{queue="mail"\} 0$/m);
    assert.match(figures, /^fairlead_jobs_latency_seconds\{queue="mail"\} 0$/m);
  });

  test("a backlog too long to count comes from the job engine's own count", async () => {
    await sql`insert into jobs.job (name, data) select 'bulk', '{}' from generate_series(1, 10500)`.execute(
      app.services.db.write,
    );
    const backlog = async () => (await read("/jobqueue/queue_metrics")).queues.bulk.backlog;
    assert.equal(await backlog(), 10_001);
    await sql`update jobs.queue set ready_count = 10500 where name = 'bulk'`.execute(app.services.db.write);
    assert.equal(await backlog(), 10_500);
  });
});
