import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import Type from "typebox";
import { readConfig } from "#config.ts";
import { defineJob } from "#jobs/define.ts";
import type { Queue } from "#jobs/queues.ts";
import { runWorker } from "#jobs/worker.ts";
import { openLog, openServices } from "#services.ts";
import { PATIENT } from "./limits.ts";

const payload = Type.Object({}, { additionalProperties: false });

/** Runs until there is a row in the table `gate`. */
export const holdingJob = defineJob({
  name: "test.hold",
  queue: "default",
  payload,
  async run({ services, signal }) {
    for (;;) {
      signal.throwIfAborted();
      const { rows } = await sql`select from gate`.execute(services.db.read);
      if (rows.length > 0) return;
      await sleep(50);
    }
  },
});

export const failingJob = defineJob({
  name: "test.fail",
  queue: "default",
  payload,
  retries: 1,
  backoff: { first: 1, max: 1 },
  async run() {
    throw new Error("always");
  },
});

export interface WorkerProcess {
  readonly pid: number;
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** Starts a process with a worker for these queues that knows the jobs above. */
export async function startWorker(databaseUrl: string, ...queues: readonly Queue[]): Promise<WorkerProcess> {
  const settings = { FAIRLEAD_DATABASE_URL: databaseUrl, FAIRLEAD_JOB_CONCURRENCY: "critical=3,default=7" };
  const child = spawn(process.execPath, [import.meta.filename, ...queues], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...PATIENT, ...settings },
  });
  const killAtExit = () => child.kill("SIGKILL");
  process.once("exit", killAtExit);
  const ended = once(child, "exit");
  await Promise.race([once(child.stdout, "data"), ended]);
  child.stdout.resume();
  if (child.exitCode !== null) throw new Error(`The worker ended with ${child.exitCode}`);
  return {
    pid: child.pid ?? 0,
    async end(signal) {
      child.kill(signal);
      await ended;
      process.removeListener("exit", killAtExit);
    },
  };
}

if (import.meta.main) {
  const config = readConfig();
  const services = openServices(config, config.databaseUrl ?? "", openLog({ ...config, logLevel: "silent" }));
  const queues = process.argv.slice(2) as Queue[];
  const worker = await runWorker(services, [holdingJob, failingJob], { queues });
  process.once("SIGTERM", async () => {
    await worker.stop();
    await services.close();
  });
  console.log("working");
}
