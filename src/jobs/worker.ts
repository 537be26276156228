import { openJobConnections } from "#db/job-connections.ts";
import { semaphore } from "#lib/semaphore.ts";
import type { Services } from "#services.ts";
import { retriesOf } from "./add.ts";
import { attempt, type Failure, type WorkerContext } from "./attempt.ts";
import type { AnyJob } from "./define.ts";
import { jobCompletion } from "./completion.ts";
import { type Engine, type HeldJob, makeEngine } from "./engine.ts";
import { BATCH, type Queue, QUEUES } from "./queues.ts";
import { watchJobs } from "./watch.ts";

export interface Worker {
  /** Takes no more jobs and waits for running ones; those that take too long are left to another worker. Never throws. */
  stop(): Promise<void>;
}

interface WorkerOptions {
  readonly queues?: readonly Queue[];
}

export const CONNECTIONS = 4;
const STOP_TIMEOUT_MS = 10_000;
/** Notifications and `watchJobs` wake the fetchers; this is for what both miss. */
const POLL_INTERVAL_SECONDS = 30;
const HEARTBEAT_INTERVAL_SECONDS = 3;

export const SETTINGS = {
  useListenNotify: true,
  // While there are jobs, `watchJobs` supervises every second.
  superviseIntervalSeconds: 300,
  monitorIntervalSeconds: 1,
  maintenanceIntervalSeconds: 600,
  instanceName: "fairlead",
  // Each beat rewrites a row of some kilobytes.
  instanceHeartbeatSeconds: 10,
  cronWorkerIntervalSeconds: 45,
  // The engine would warn every few seconds; the backlog is a metric.
  warningQueueSize: 2 ** 31 - 1,
  // For jobs that wait for other jobs, which we do not use.
  flowIntervalSeconds: 3600,
} as const;

/** Works on queues until it is stopped. */
export async function runWorker(
  services: Services,
  jobs: readonly AnyJob[],
  { queues = QUEUES }: WorkerOptions = {},
): Promise<Worker> {
  const { config, databaseUrl, log } = services;
  const connections = openJobConnections({
    url: databaseUrl,
    log,
    size: CONNECTIONS,
    connectTimeout: config.connectTimeout,
  });
  const engine = makeEngine(connections, log, SETTINGS);
  const byName = new Map(jobs.map((job) => [job.name, job]));
  // In a process that also serves requests, they keep half of the pool.
  const limited = semaphore(Math.ceil(config.poolSize / 2));

  let watch: ReturnType<typeof watchJobs> | undefined;

  async function stop() {
    try {
      await watch?.stop();
      await engine.stop({ timeout: STOP_TIMEOUT_MS });
      await connections.close();
    } catch (error) {
      log.warn({ err: error }, "The job engine did not stop cleanly");
    }
  }

  try {
    // Before the start, which queues at once what came due while no worker ran.
    for (const job of jobs) await schedule(engine, job);
    await engine.start();
    for (const queue of queues) {
      const worker = { services, engine, jobs: byName, complete: jobCompletion(engine, queue), limited };
      await workOn(worker, queue, config.jobConcurrency[queue]);
    }
    watch = watchJobs(engine, connections, log);
  } catch (error) {
    await stop();
    throw error;
  }
  log.info({ queues }, `working on ${queues.join(", ")}`);
  return { stop };
}

/** Every worker registers it; the engine keeps one schedule and queues each occurrence once. */
async function schedule(engine: Engine, job: AnyJob) {
  if (job.cron === undefined) return;
  const data = { job: job.name, payload: {} };
  await engine.schedule(job.queue, job.cron, data, { ...retriesOf(job), key: job.name, missed: "once" });
}

/** Starts enough fetchers to run the given number of jobs of a queue concurrently. */
async function workOn(worker: WorkerContext, queue: Queue, concurrency: number) {
  const { engine } = worker;
  const fetchers: string[] = [];
  for (let rest = concurrency; rest > 0; rest -= BATCH[queue]) {
    const size = Math.min(rest, BATCH[queue]);
    const options = {
      batchSize: size,
      perJobResults: true,
      heartbeatRefreshSeconds: HEARTBEAT_INTERVAL_SECONDS,
      pollingIntervalSeconds: POLL_INTERVAL_SECONDS,
      notifyPollingIntervalSeconds: POLL_INTERVAL_SECONDS,
    } as const;
    const id = await engine.work(queue, options, (held: HeldJob[]) => {
      // After a full batch there may be more.
      if (held.length === size) for (const fetcher of fetchers) engine.notifyWorker(fetcher);
      return attemptAll(worker, held);
    });
    fetchers.push(id);
  }
}

/** Runs a batch. Completed jobs leave it, so that the engine counts and renews only those that still run. */
async function attemptAll(worker: WorkerContext, held: HeldJob[]): Promise<Failure[]> {
  const failures = await Promise.all(
    [...held].map(async (job) => {
      const failure = await attempt(worker, job);
      if (!failure) held.splice(held.indexOf(job), 1);
      return failure;
    }),
  );
  return failures.filter((failure) => failure !== undefined);
}
