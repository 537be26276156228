import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { PgBoss } from "pg-boss";
import pino from "pino";
import Type from "typebox";
import { readConfig } from "#config.ts";
import { migrate } from "#db/migrate.ts";
import { startServer } from "#db/server.ts";
import { defineJob } from "#jobs/define.ts";
import { BATCH } from "#jobs/queues.ts";
import { CONNECTIONS, runWorker, SETTINGS } from "#jobs/worker.ts";
import { openServices } from "#services.ts";
import { type Figure, median, progress, table } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { temporaryDirectory } from "./support/processes.ts";

const JOBS = 20_000;
const BATCH_SIZE = 1_000;
const IDLE_JOBS = 100;
const IDLE_PAUSE_MS = 30;
const TIMEOUT_MS = 120_000;

/** The concurrency of a queue with large batches and of one with small ones. */
const CONCURRENCY = { ingest: 80, default: 10 } as const;
type BenchQueue = keyof typeof CONCURRENCY;

/** An implementation that queues and runs no-op jobs. */
interface Contender {
  add(queue: BenchQueue, count: number): Promise<void>;
  /** Starts a worker, which calls the function for every job. */
  work(ran: () => void): Promise<{ stop(): Promise<void> }>;
  close(): Promise<void>;
}

interface Round {
  readonly ingest: number;
  readonly default: number;
  readonly latency: number;
}

/** No-op jobs through our wrapper beside pg-boss used bare, on one PostgreSQL and with the same settings. */
export async function jobs({ rounds }: Options): Promise<Figure[]> {
  using dir = temporaryDirectory();
  const server = await startServer({ dataDir: join(dir.path, "postgres") });
  try {
    const contenders = { bare: await bareContender(server.url), ours: await ourContender(server.url, dir.path) };
    const measured = { bare: [] as Round[], ours: [] as Round[] };
    while (measured.ours.length < rounds) {
      progress(`round ${measured.ours.length + 1} of ${rounds}`);
      for (const name of ["bare", "ours"] as const) measured[name].push(await measure(contenders[name]));
    }
    for (const contender of Object.values(contenders)) await contender.close();

    const of = (name: keyof typeof contenders, what: keyof Round) => median(measured[name].map((round) => round[what]));
    const ratio = (what: keyof Round) =>
      median(measured.ours.map((ours, i) => ours[what] / (measured.bare[i]?.[what] ?? Number.NaN)));
    const row = (title: string, what: keyof Round) => [title, of("bare", what), of("ours", what), ratio(what)];
    console.log(
      table(
        ["no-op jobs", "bare pg-boss", "ours", "ratio"],
        [
          row(`a second, 4 fetchers of ${BATCH.ingest}`, "ingest"),
          row(`a second, 2 fetchers of ${BATCH.default}`, "default"),
          row("idle, ms until one runs, p50", "latency"),
        ],
      ),
    );
    const rate = { about: "of bare pg-boss's rate", bound: "at least", goal: 0.9 } as const;
    return [
      { ...rate, value: ratio("ingest") },
      { ...rate, value: ratio("default"), about: "with small batches" },
      { about: "of its idle latency", value: ratio("latency"), bound: "at most", goal: 2 },
    ];
  } finally {
    await server.stop();
  }
}

async function measure(contender: Contender): Promise<Round> {
  const rate = async (queue: BenchQueue) => {
    await contender.add(queue, JOBS);
    const { promise: done, resolve } = Promise.withResolvers<void>();
    let left = JOBS;
    const began = performance.now();
    const worker = await contender.work(() => {
      if (--left === 0) resolve();
    });
    await Promise.race([done, timeLimit()]);
    const seconds = (performance.now() - began) / 1000;
    await worker.stop();
    return JOBS / seconds;
  };
  return { ingest: await rate("ingest"), default: await rate("default"), latency: await idleLatency(contender) };
}

/** Milliseconds from before a job is added to an idle queue until it runs. */
async function idleLatency(contender: Contender): Promise<number> {
  let ran = () => {};
  const worker = await contender.work(() => ran());
  await pause(500);
  const times: number[] = [];
  for (let i = 0; i < IDLE_JOBS; i++) {
    const { promise, resolve } = Promise.withResolvers<void>();
    ran = resolve;
    const began = performance.now();
    await contender.add("default", 1);
    await Promise.race([promise, timeLimit()]);
    times.push(performance.now() - began);
    await pause(IDLE_PAUSE_MS);
  }
  await worker.stop();
  return median(times);
}

async function timeLimit(): Promise<never> {
  await pause(TIMEOUT_MS, undefined, { ref: false });
  throw new Error(`The jobs were not done within ${TIMEOUT_MS} ms`);
}

async function ourContender(server: string, dir: string): Promise<Contender> {
  const url = await createDatabase(server, "ours");
  await migrate(url);
  const concurrency = Object.entries(CONCURRENCY).map((pair) => pair.join("="));
  const config = readConfig({ FAIRLEAD_DATA_DIR: dir, FAIRLEAD_JOB_CONCURRENCY: concurrency.join(",") });
  const log = pino({ base: null }, pino.destination({ dest: join(dir, "worker.log"), sync: false, minLength: 16_000 }));
  const services = openServices(config, url, log);
  let onRun = () => {};
  const common = { payload: Type.Object({ number: Type.Integer() }), run: async () => onRun() };
  const kinds = {
    ingest: defineJob({ ...common, name: "bench.ingest", queue: "ingest" }),
    default: defineJob({ ...common, name: "bench.default", queue: "default" }),
  };
  return {
    async add(queue, count) {
      for (let added = 0; added < count; added += BATCH_SIZE) {
        await services.db.transaction(async (tx) => {
          for (let i = added; i < Math.min(added + BATCH_SIZE, count); i++) {
            await services.jobs.add(tx, kinds[queue], { number: i });
          }
        });
      }
    },
    work(ran) {
      onRun = ran;
      return runWorker(services, Object.values(kinds), { queues: ["ingest", "default"] });
    },
    close: () => services.close(),
  };
}

async function bareContender(server: string): Promise<Contender> {
  const url = await createDatabase(server, "bare");
  const settings = { connectionString: url, schema: "jobs", max: CONNECTIONS, ...SETTINGS };
  const silent = (boss: PgBoss) => boss.on("error", () => {}).on("warning", () => {});
  const adding = silent(new PgBoss({ ...settings, supervise: false, schedule: false, useListenNotify: false }));
  await adding.start();
  for (const queue of ["ingest", "default"]) {
    await adding.createQueue(queue, { heartbeatSeconds: 10, retryLimit: 20, retryBackoff: true, notify: true });
  }
  return {
    async add(queue, count) {
      if (count === 1) await adding.send(queue, { job: "bench", payload: { number: 0 } });
      for (let added = 0; added + BATCH_SIZE <= count; added += BATCH_SIZE) {
        const payloads = Array.from({ length: BATCH_SIZE }, (_, i) => ({
          job: "bench",
          payload: { number: added + i },
        }));
        await adding.insert(
          queue,
          payloads.map((data) => ({ data })),
        );
      }
    },
    async work(ran) {
      const boss = silent(new PgBoss(settings));
      await boss.start();
      for (const queue of ["ingest", "default"] as const) {
        await boss.work(
          queue,
          {
            batchSize: BATCH[queue],
            localConcurrency: CONCURRENCY[queue] / BATCH[queue],
            burstWhenBatchFull: true,
            pollingIntervalSeconds: 0.5,
          },
          async (batch) => {
            for (let i = 0; i < batch.length; i++) ran();
          },
        );
      }
      return { stop: () => boss.stop() };
    },
    close: () => adding.stop(),
  };
}

async function createDatabase(server: string, name: string): Promise<string> {
  const client = new Client({ connectionString: server });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return Object.assign(new URL(server), { pathname: `/${name}` }).href;
}
