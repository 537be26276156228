import { jobs } from "#domains/index.ts";
import { runWorker } from "#jobs/worker.ts";
import type { TestApp } from "./app.ts";
import { until } from "./until.ts";

/** Runs the jobs that delete users, groups and projects until a condition holds. */
export async function workUntil({ services }: Pick<TestApp, "services">, what: string, isDone: () => Promise<boolean>) {
  const worker = await runWorker(services, jobs, { queues: ["bulk", "default"] });
  try {
    await until(what, isDone);
  } finally {
    await worker.stop();
  }
}
