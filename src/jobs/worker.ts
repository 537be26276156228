import { openJobConnections } from "#db/job-connections.ts";
import { semaphore } from "#lib/semaphore.ts";
import type { Services } from "#services.ts";
import { retriesOf } from "./add.ts";
import { attempt, type Failure, type Shift } from "./attempt.ts";
import type { AnyJob } from "./define.ts";
import { endingsOf } from "./endings.ts";
import { type Engine, type HeldJob, makeEngine } from "./engine.ts";
import { BATCH, type Queue, QUEUES } from "./queues.ts";

export interface Worker {
  /** Takes no more jobs and waits for those that run; what takes too long is left to another worker. Never throws. */
  stop(): Promise<void>;
}

interface WorkerOptions {
  readonly queues?: readonly Queue[];
}

export const CONNECTIONS = 4;
const GRACE = 10_000;
/** A job whose worker died runs again within 15 s: a silence of 10, this, the first backoff of 2 and a poll. */
const LOOK_FOR_LOST = 1;
/** One fetcher of a queue polls for what nobody announces: retries, jobs for later, jobs of lost workers. */
const POLL = 0.5;
const REST = 30;
const HEARTBEAT = 3;

export const SETTINGS = {
  useListenNotify: true,
  superviseIntervalSeconds: LOOK_FOR_LOST,
  monitorIntervalSeconds: LOOK_FOR_LOST,
  maintenanceIntervalSeconds: 600,
  instanceName: "fairlead",
  instanceHeartbeatSeconds: 2,
  cronWorkerIntervalSeconds: 1,
  // It would say so every few seconds; the metrics tell the backlog.
  warningQueueSize: 2 ** 31 - 1,
  // Jobs that wait for other jobs, which we do not use.
  flowIntervalSeconds: 3600,
} as const;

/** Works on queues until it is told to stop. */
export async function runWorker(
  services: Services,
  jobs: readonly AnyJob[],
  { queues = QUEUES }: WorkerOptions = {},
): Promise<Worker> {
  const { config, databaseUrl, log } = services;
  const connections = openJobConnections({ url: databaseUrl, log, size: CONNECTIONS });
  const engine = makeEngine(connections, log, SETTINGS);
  const byName = new Map(jobs.map((job) => [job.name, job]));
  // In a process that also serves, requests are left half of the pool.
  const inTurn = semaphore(Math.ceil(config.poolSize / 2));

  async function stop() {
    try {
      await engine.stop({ timeout: GRACE });
      await connections.close();
    } catch (error) {
      log.warn({ err: error }, "The job engine did not stop cleanly");
    }
  }

  try {
    // Before the start, which at once queues what came due while nobody worked.
    for (const job of jobs) await schedule(engine, job);
    await engine.start();
    for (const queue of queues) {
      const shift = { services, engine, jobs: byName, end: endingsOf(engine, queue), inTurn };
      await workOn(shift, queue, config.jobConcurrency[queue]);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  log.info({ queues }, "working");
  return { stop };
}

/** All workers say so; the engine keeps one schedule, and one of them queues each occurrence. */
async function schedule(engine: Engine, job: AnyJob) {
  if (job.cron === undefined) return;
  const data = { job: job.name, payload: {} };
  await engine.schedule(job.queue, job.cron, data, { ...retriesOf(job), key: job.name, missed: "once" });
}

/** Starts as many fetchers as it takes to hold so many jobs of a queue at once. */
async function workOn(shift: Shift, queue: Queue, concurrency: number) {
  const { engine } = shift;
  const fetchers: string[] = [];
  for (let rest = concurrency; rest > 0; rest -= BATCH[queue]) {
    const size = Math.min(rest, BATCH[queue]);
    const seconds = fetchers.length === 0 ? POLL : REST;
    const options = {
      batchSize: size,
      perJobResults: true,
      heartbeatRefreshSeconds: HEARTBEAT,
      pollingIntervalSeconds: seconds,
      notifyPollingIntervalSeconds: seconds,
    } as const;
    const id = await engine.work(queue, options, (held: HeldJob[]) => {
      // Where a batch was full there may be more.
      if (held.length === size) for (const fetcher of fetchers) engine.notifyWorker(fetcher);
      return attemptAll(shift, held);
    });
    fetchers.push(id);
  }
}

/** Runs a batch. What has ended leaves it, so that the engine counts and keeps alive only what still runs. */
async function attemptAll(shift: Shift, held: HeldJob[]): Promise<Failure[]> {
  const failures = await Promise.all(
    [...held].map(async (job) => {
      const failure = await attempt(shift, job);
      if (!failure) held.splice(held.indexOf(job), 1);
      return failure;
    }),
  );
  return failures.filter((failure) => failure !== undefined);
}
