import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Config, readConfig } from "#config.ts";
import { migrate } from "#db/migrate.ts";
import { buildApp } from "#http/app.ts";
import { shareLimits } from "#limits/shared-counts.ts";
import type { Worker } from "#jobs/worker.ts";
import { ensureSealingKey } from "#lib/sealing-key.ts";
import { constraints, jobs, resources } from "#domains/index.ts";
import { watchPushes } from "#domains/storage/pushes/reconcile.ts";
import { openLog, openServices, type ProcessLog, type Services } from "#services.ts";
import { type RunningDatabase, reachDatabase } from "./database.ts";
import { prepareDirectories } from "./directories.ts";
import { withProgress } from "./output.ts";
import { type HeldPort, holdHttpPort, holdSshPort } from "./ports.ts";
import { requireSchema, watchSchema } from "./schema.ts";
import { announce, makeFirstAdministrator, remindOfToken } from "./setup.ts";
import { warnIfRoot } from "./root.ts";
import { beginSsh } from "./ssh-start.ts";
import { soon, stopOnSignal } from "./stopping.ts";
import type { Terminal } from "./terminal.ts";

const GRACE_MS = 10_000;
const PUSH_GRACE_MS = 60_000;
const START_DELAY_MS = 500;

/** Runs web, worker and SSH in one process; `npm start` runs this. */
export async function serve(args: string[], terminal: Terminal) {
  parseArgs({ args });
  const config = readConfig(terminal.env);
  const log = openLog(config);
  const ports = { http: await holdHttpPort(config), ssh: await holdSshPort(config) };
  const say = (line: string) => log.info(line);
  const database = await reachDatabase(config, say);
  try {
    await prepareDirectories(config);
    await ensureSealingKey(config.dataDir);
    await withProgress("Migrating the database", () => migrate(database.url, { log }), say);
    await requireSchema(database.url);
    await listen({ config, database, log, ports, first: true }, terminal);
  } catch (error) {
    await database.stop();
    throw error;
  }
}

/** Runs one of several web processes; until the database is migrated, it answers that it is not ready. */
export async function web(args: string[], terminal: Terminal) {
  parseArgs({ args });
  const config = readConfig(terminal.env);
  if (config.databaseUrl === undefined)
    throw new Error("a web process needs FAIRLEAD_DATABASE_URL; 'fairlead serve' does not");
  const ports = { http: await holdHttpPort(config) };
  await prepareDirectories(config);
  const database = { url: config.databaseUrl, trial: false, stop: async () => {} };
  await listen({ config, database, log: openLog(config), ports, first: false }, terminal);
}

interface Ports {
  readonly http: HeldPort;
  readonly ssh?: HeldPort | undefined;
}

interface Start {
  readonly config: Config;
  readonly database: RunningDatabase;
  readonly log: ProcessLog;
  readonly ports: Ports;
  /** Whether it is the process that prepares the installation. */
  readonly first: boolean;
}

async function listen({ config, database, log, ports, first }: Start, terminal: Terminal) {
  // Prevents prototype pollution. Sealed and not frozen, because with a frozen prototype a request with the header
  // `constructor` throws inside Node's own parser.
  Object.seal(Object.prototype);
  warnIfRoot(log);
  const services = openServices(config, database.url, log);
  const app = buildApp(services, resources, { constraints });
  const background: { stop(): void }[] = [];
  const startBackground = () => {
    if (config.rateLimits) background.push(shareLimits(services.db, services.limiter, log));
    background.push(watchPushes(services));
  };
  let made;
  try {
    // The administrator must exist before the process is ready.
    made = first ? await makeFirstAdministrator(services) : undefined;
    if (first && !made) await remindOfToken(services);
    if (!first) background.push(await watchSchema(services, startBackground));
    await app.ready();
    ports.http.release();
    await app.listen({ host: config.host, port: config.port });
  } catch (error) {
    await services.close();
    throw error;
  }
  if (first) startBackground();
  const { port } = app.server.address() as AddressInfo;
  const address = config.externalUrl ?? `http://${config.host}:${port}`;

  const working = first ? startWorker(services) : undefined;
  const ssh = first ? startSsh(services, ports.ssh) : undefined;
  const stop = stopOnSignal(log, async () => {
    services.lifecycle.stopping = true;
    for (const each of background) each.stop();
    const began = Date.now();
    const deadline = setInterval(() => {
      const grace = services.lifecycle.pushes > 0 ? PUSH_GRACE_MS : GRACE_MS;
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

  // The token is not for the log.
  if (made) announce(made, address, database.trial, log.isText ? terminal.print : terminal.printAside);
  log.info({ address, trial_database: database.trial }, `Fairlead is at ${address}`);
}

/** Loads the worker later, since that takes a tenth of a second and the first requests should not wait for it. */
async function startWorker(services: Services): Promise<Worker> {
  await sleep(START_DELAY_MS);
  const { runWorker } = await import("#jobs/worker.ts");
  return runWorker(services, jobs);
}

/** Loads SSH later too. Its port was taken before, so what fails here, such as a damaged host key, does not end HTTP. */
async function startSsh(services: Services, port: HeldPort | undefined) {
  await sleep(START_DELAY_MS);
  if (services.lifecycle.stopping) return undefined;
  try {
    return await beginSsh(services, port);
  } catch (error) {
    services.log.error({ err: error }, "SSH is not served");
    return undefined;
  }
}
