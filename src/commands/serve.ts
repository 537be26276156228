import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { type Config, readConfig } from "#config.ts";
import { migrate } from "#db/migrate.ts";
import { buildApp } from "#http/app.ts";
import { shareLimits } from "#http/shared-limits.ts";
import type { Worker } from "#jobs/worker.ts";
import { ensureSealingKey } from "#lib/sealing-key.ts";
import { resources } from "#resources/index.ts";
import { jobs } from "#resources/jobs.ts";
import { watchPushes } from "#resources/repositories/settling.ts";
import { openLog, openServices, type Services } from "#services.ts";
import { type RunningDatabase, reachDatabase } from "./database.ts";
import { print, withProgress } from "./output.ts";
import { announce, makeFirstAdministrator } from "./setup.ts";
import { warnIfRoot } from "./root.ts";
import { beginSsh } from "./ssh-start.ts";
import { soon, stopOnSignal } from "./stopping.ts";

const GRACE = 10_000;
const GRACE_OF_PUSHES = 60_000;
const HEAD_START = 500;

/** Everything in one process: what `npm start` runs. */
export async function serve() {
  const config = readConfig();
  const log = openLog(config);
  await ensureSealingKey(config.dataDir);
  const database = await reachDatabase(config);
  try {
    await withProgress("Migrating the database", () => migrate(database.url, { log }));
    await listen(config, database, log, true);
  } catch (error) {
    await database.stop();
    throw error;
  }
}

/** One web process of several; the database is there and up to date. */
export async function web() {
  const config = readConfig();
  if (config.databaseUrl === undefined)
    throw new Error("a web process needs FAIRLEAD_DATABASE_URL; 'fairlead serve' does not");
  await listen(config, { url: config.databaseUrl, trial: false, stop: async () => {} }, openLog(config), false);
}

async function listen(config: Config, database: RunningDatabase, log: Logger, first: boolean) {
  // No value from outside may ever add to what all objects share.
  // Sealed, not frozen: a request with the header `constructor` would then throw inside Node's own parser.
  Object.seal(Object.prototype);
  warnIfRoot(log);
  const services = openServices(config, database.url, log);
  const app = buildApp(services, resources);
  let made;
  try {
    // Whoever finds the process ready must also find the administrator.
    made = first ? await makeFirstAdministrator(services) : undefined;
    await app.listen({ host: config.host, port: config.port });
  } catch (error) {
    await services.close();
    throw error;
  }
  const sharing = config.rateLimits ? shareLimits(services.db, services.limiter, log) : undefined;
  const pushes = watchPushes(services);
  const { port } = app.server.address() as AddressInfo;
  const address = config.externalUrl ?? `http://${config.host}:${port}`;

  const working = first ? startWorker(services) : undefined;
  const ssh = first ? startSsh(services) : undefined;
  const stop = stopOnSignal(log, async () => {
    services.lifecycle.stopping = true;
    sharing?.stop();
    pushes.stop();
    const began = Date.now();
    const deadline = setInterval(() => {
      const grace = services.lifecycle.pushes > 0 ? GRACE_OF_PUSHES : GRACE;
      if (Date.now() - began > grace) app.server.closeAllConnections();
    }, 250).unref();
    await Promise.all([
      app.close(),
      working?.then((worker) => worker.stop()).catch(() => {}),
      ssh?.then((running) => running?.stop()),
    ]);
    clearInterval(deadline);
    await soon(services.close());
    await database.stop();
  });
  working?.catch((error: unknown) => {
    log.fatal({ err: error }, "the worker did not start");
    process.exitCode = 1;
    stop("no worker");
  });

  if (made) announce(made, address, database.trial);
  print(`Fairlead is at ${address}`);
  log.info({ address, trial_database: database.trial }, "listening");
}

/** Loading what works on jobs takes a tenth of a second, and whoever waits for the start is answered before it. */
async function startWorker(services: Services): Promise<Worker> {
  await sleep(HEAD_START);
  const { runWorker } = await import("#jobs/worker.ts");
  return runWorker(services, jobs);
}

/** Who has only HTTP is better off than who has neither, so that a port which is taken ends nothing. */
async function startSsh(services: Services) {
  await sleep(HEAD_START);
  if (services.lifecycle.stopping) return undefined;
  try {
    return await beginSsh(services);
  } catch (error) {
    services.log.error({ err: error }, "SSH did not start");
    process.stderr.write(`SSH is not served: ${String(error)}; FAIRLEAD_SSH_PORT chooses another port, or off\n`);
    return undefined;
  }
}
