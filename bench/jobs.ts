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
const AT_ONCE = 1_000;
const IDLE_JOBS = 100;
const IDLE_PAUSE = 30;
const LIMIT = 120_000;

/** A queue that fetches many at once and one that fetches few, with the jobs that each holds. */
const CONCURRENCY = { ingest: 80, default: 10 } as const;
type Busy = keyof typeof CONCURRENCY;

/** One way to queue and run jobs that do nothing. */
interface Side {
  add(queue: Busy, count: number): Promise<void>;
  /** Starts to work; the function is told of every job. */
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
    const sides = { bare: await bareSide(server.url), ours: await ourSide(server.url, dir.path) };
    const measured = { bare: [] as Round[], ours: [] as Round[] };
    while (measured.ours.length < rounds) {
      progress(`round ${measured.ours.length + 1} of ${rounds}`);
      for (const name of ["bare", "ours"] as const) measured[name].push(await measure(sides[name]));
    }
    for (const side of Object.values(sides)) await side.close();

    const of = (name: keyof typeof sides, what: keyof Round) => median(measured[name].map((round) => round[what]));
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

async function measure(side: Side): Promise<Round> {
  const rate = async (queue: Busy) => {
    await side.add(queue, JOBS);
    const { promise: done, resolve } = Promise.withResolvers<void>();
    let left = JOBS;
    const began = performance.now();
    const worker = await side.work(() => {
      if (--left === 0) resolve();
    });
    await Promise.race([done, timeLimit()]);
    const seconds = (performance.now() - began) / 1000;
    await worker.stop();
    return JOBS / seconds;
  };
  return { ingest: await rate("ingest"), default: await rate("default"), latency: await idleLatency(side) };
}

/** Milliseconds from before a job is added to an idle queue until it runs. */
async function idleLatency(side: Side): Promise<number> {
  let ran = () => {};
  const worker = await side.work(() => ran());
  await pause(500);
  const times: number[] = [];
  for (let i = 0; i < IDLE_JOBS; i++) {
    const { promise, resolve } = Promise.withResolvers<void>();
    ran = resolve;
    const began = performance.now();
    await side.add("default", 1);
    await Promise.race([promise, timeLimit()]);
    times.push(performance.now() - began);
    await pause(IDLE_PAUSE);
  }
  await worker.stop();
  return median(times);
}

async function timeLimit(): Promise<never> {
  await pause(LIMIT, undefined, { ref: false });
  throw new Error(`The jobs were not done within ${LIMIT} ms`);
}

async function ourSide(server: string, dir: string): Promise<Side> {
  const url = await makeDatabase(server, "ours");
  await migrate(url);
  const concurrency = Object.entries(CONCURRENCY).map((pair) => pair.join("="));
  const config = readConfig({ FAIRLEAD_DATA_DIR: dir, FAIRLEAD_JOB_CONCURRENCY: concurrency.join(",") });
  const log = pino({ base: null }, pino.destination({ dest: join(dir, "worker.log"), sync: false, minLength: 16_000 }));
  const services = openServices(config, url, log);
  let told = () => {};
  const common = { payload: Type.Object({ number: Type.Integer() }), run: async () => told() };
  const kinds = {
    ingest: defineJob({ ...common, name: "bench.ingest", queue: "ingest" }),
    default: defineJob({ ...common, name: "bench.default", queue: "default" }),
  };
  return {
    async add(queue, count) {
      for (let added = 0; added < count; added += AT_ONCE) {
        await services.db.transaction(async (tx) => {
          for (let i = added; i < Math.min(added + AT_ONCE, count); i++) {
            await services.jobs.add(tx, kinds[queue], { number: i });
          }
        });
      }
    },
    work(ran) {
      told = ran;
      return runWorker(services, Object.values(kinds), { queues: ["ingest", "default"] });
    },
    close: () => services.close(),
  };
}

async function bareSide(server: string): Promise<Side> {
  const url = await makeDatabase(server, "bare");
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
      for (let added = 0; added + AT_ONCE <= count; added += AT_ONCE) {
        const payloads = Array.from({ length: AT_ONCE }, (_, i) => ({ job: "bench", payload: { number: added + i } }));
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

async function makeDatabase(server: string, name: string): Promise<string> {
  const client = new Client({ connectionString: server });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return Object.assign(new URL(server), { pathname: `/${name}` }).href;
}
