import type { AddressInfo } from "node:net";
import type { Logger } from "pino";
import { type Config, readConfig } from "#config.ts";
import { migrate } from "#db/migrate.ts";
import { buildApp } from "#http/app.ts";
import { shareLimits } from "#http/shared-limits.ts";
import { ensureSealingKey } from "#lib/sealing-key.ts";
import { resources } from "#resources/index.ts";
import { openLog, openServices, type Services } from "#services.ts";
import { type RunningDatabase, reachDatabase } from "./database.ts";
import { print, withProgress } from "./output.ts";
import { announce, makeFirstAdministrator } from "./setup.ts";

const GRACE = 10_000;
const DAY = 24 * 60 * 60 * 1000;

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
  const keeping = setInterval(() => void keepPartitions(services), DAY).unref();
  const sharing = config.rateLimits ? shareLimits(services.db, services.limiter, log) : undefined;
  const { port } = app.server.address() as AddressInfo;
  const address = config.externalUrl ?? `http://${config.host}:${port}`;

  const stop = once(async (signal: string) => {
    log.info({ signal }, "stopping");
    services.lifecycle.stopping = true;
    sharing?.stop();
    clearInterval(keeping);
    const deadline = setTimeout(() => app.server.closeAllConnections(), GRACE).unref();
    await app.close();
    clearTimeout(deadline);
    await services.close();
    await database.stop();
    log.flush();
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void stop(signal));
  process.on("uncaughtException", (error) => {
    log.fatal({ err: error }, "a bug; the process stops");
    process.exitCode = 1;
    void stop("uncaughtException");
  });

  if (made) announce(made, address, database.trial);
  print(`Fairlead is at ${address}`);
  log.info({ address, trial_database: database.trial }, "listening");
}

/** Makes the coming months' partitions while there is time; readiness warns where it fails for long. */
async function keepPartitions({ db, log }: Services) {
  try {
    await db.keepPartitions();
  } catch (error) {
    log.error({ err: error }, "could not make partitions ahead");
  }
}

function once(work: (reason: string) => Promise<void>): (reason: string) => Promise<void> {
  let running: Promise<void> | undefined;
  return (reason) => (running ??= work(reason));
}
