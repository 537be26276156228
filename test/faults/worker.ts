import { readConfig } from "#config.ts";
import type { Queue } from "#jobs/queues.ts";
import { runWorker } from "#jobs/worker.ts";
import { jobs as ours } from "#domains/index.ts";
import { openLog, openServices } from "#services.ts";
import { jobs } from "./jobs.ts";

/** A worker like `fairlead worker` that also runs the jobs of the harness; its arguments are queues. */
const config = readConfig();
const services = openServices(config, config.databaseUrl ?? "", openLog(config));
const worker = await runWorker(services, [...ours, ...jobs], { queues: process.argv.slice(2) as Queue[] });
process.once("SIGTERM", async () => {
  await worker.stop();
  await services.close();
});
