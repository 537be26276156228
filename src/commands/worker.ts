import { parseArgs } from "node:util";
import { readConfig } from "#config.ts";
import { type Queue, QUEUES } from "#jobs/queues.ts";
import { runWorker } from "#jobs/worker.ts";
import { jobs } from "#domains/index.ts";
import { watchPushes } from "#domains/storage/pushes/reconcile.ts";
import { openLog, openServices } from "#services.ts";
import { prepareDirectories } from "./directories.ts";
import { warnIfRoot } from "./root.ts";
import { requireSchema } from "./schema.ts";
import { soon, stopOnSignal } from "./stopping.ts";
import type { Terminal } from "./terminal.ts";

/** Runs one of several workers on a migrated database. */
export async function worker(args: string[], terminal: Terminal) {
  const { values } = parseArgs({ args, options: { queues: { type: "string", default: QUEUES.join(",") } } });
  const queues = values.queues.split(",").map((name) => queueOf(name.trim()));
  const config = readConfig(terminal.env);
  if (config.databaseUrl === undefined) {
    throw new Error("a worker needs FAIRLEAD_DATABASE_URL; 'fairlead serve' does not");
  }
  const log = openLog(config);
  warnIfRoot(log);
  await requireSchema(config.databaseUrl);
  await prepareDirectories(config);
  const services = openServices(config, config.databaseUrl, log);
  try {
    const running = await runWorker(services, jobs, { queues });
    const pushes = watchPushes(services);
    stopOnSignal(log, async () => {
      pushes.stop();
      await running.stop();
      await soon(services.close());
    });
  } catch (error) {
    await services.close();
    throw error;
  }
}

export function queueOf(name: string): Queue {
  const queue = QUEUES.find((known) => known === name);
  if (queue === undefined) throw new Error(`'${name}' is not a queue; use one of ${QUEUES.join(", ")}`);
  return queue;
}
