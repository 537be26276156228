import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readConfig } from "#config.ts";
import { openLog, openServices, type Services } from "#services.ts";
import { fairlead } from "#test/support/command.ts";
import { freePort } from "#test/support/ports.ts";
import { type Engine, makeEngine } from "./engine.ts";
import { LEDGER } from "./ledger.ts";
import { type Proxy, startProxy } from "./proxy.ts";
import { runAfterExit, type Process, startProcess, until } from "./supervisor.ts";

/** After a fault every process is ready again within this time. */
export const READY_TIMEOUT_MS = 10_000;
const START_TIMEOUT_MS = 60_000;
const WORKER = fileURLToPath(import.meta.resolve("./worker.ts"));

/** A whole installation of real processes: PostgreSQL, web processes and workers. */
export interface Cluster {
  readonly engine: Engine;
  /** Between PostgreSQL and the first web process and `services`; all others connect directly. */
  readonly proxy: Proxy;
  /** The token of the administrator. */
  readonly admin: string;
  readonly webs: readonly [Web, Web];
  /** Two workers that run the short jobs throughout. */
  readonly workers: readonly [ProcessHandle, ProcessHandle];
  /** Services of the harness, to add jobs with. */
  readonly services: Services;
  /** Every process that was started, dead ones included. */
  readonly processes: ReadonlySet<Process>;
  /** Starts a worker that takes one job at a time from each of these queues, or several mails. */
  startWorker(queues: readonly string[], connected?: "direct" | "proxied", env?: Record<string, string>): Process;
  close(): Promise<void>;
}

/** A process that can be killed and started again. */
export interface ProcessHandle {
  start(): void;
  kill(): Promise<void>;
}

export interface Web extends ProcessHandle {
  readonly url: string;
  /** Waits until it is ready, and returns the milliseconds that took. */
  ready(): Promise<number>;
}

export async function startCluster(): Promise<Cluster> {
  const dataDir = await mkdtemp(join(tmpdir(), "fairlead-faults-"));
  runAfterExit('rm -rf "$1"', dataDir);
  const engine = await makeEngine();
  const proxy = await startProxy(engine.socket);
  const admin = `flpat-${randomBytes(24).toString("base64url")}`;
  const common = { FAIRLEAD_DATA_DIR: dataDir, FAIRLEAD_RATE_LIMITS: "off", FAIRLEAD_LOG_LEVEL: "warn" };
  const setup = await fairlead(["setup"], {
    ...common,
    FAIRLEAD_DATABASE_URL: engine.url,
    FAIRLEAD_ROOT_TOKEN: admin,
  });
  if (setup.code !== 0) throw new Error(`fairlead setup ended with ${setup.code}: ${setup.stderr}`);

  await engine.query(LEDGER);
  const proxied = `postgres://fairlead@127.0.0.1:${proxy.port}/fairlead?sslmode=disable`;
  const config = readConfig({ ...common, FAIRLEAD_LOG_LEVEL: "silent" });
  const services = openServices(config, named(proxied, "harness"), openLog(config));

  const processes = new Set<Process>();
  let started = 0;
  const start = (kind: string, program: string, args: readonly string[], url: string, env: Record<string, string>) => {
    const name = `${kind}-${++started}`;
    const child = startProcess(name, program, args, { ...common, ...env, FAIRLEAD_DATABASE_URL: named(url, name) });
    processes.add(child);
    return child;
  };
  const startWorker = (queues: readonly string[], connected = "direct", env: Record<string, string> = {}) =>
    start("worker", "bin/node", [WORKER, ...queues], connected === "proxied" ? proxied : engine.url, {
      FAIRLEAD_JOB_CONCURRENCY: "git=1,bulk=1",
      ...env,
    });
  const makeWeb = async (url: string): Promise<Web> => {
    const port = String(await freePort());
    return webAt(port, () => start("web", "bin/fairlead", ["web"], url, { FAIRLEAD_PORT: port }));
  };

  const workers = [restartable(() => startWorker(["default"])), restartable(() => startWorker(["default"]))] as const;
  const webs = [await makeWeb(proxied), await makeWeb(engine.url)] as const;
  await Promise.all(webs.map((web) => web.ready()));
  return {
    engine,
    proxy,
    admin,
    webs,
    workers,
    services,
    processes,
    startWorker,
    async close() {
      await Promise.all([...processes].map((child) => child.stop()));
      await services.close();
      await proxy.close();
      await engine.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function restartable(startOne: () => Process) {
  let child = startOne();
  return { child: () => child, start: () => void (child = startOne()), kill: () => child.kill() };
}

function webAt(port: string, startOne: () => Process): Web {
  const url = `http://127.0.0.1:${port}`;
  const { child, ...place } = restartable(startOne);
  const isReady = async () => {
    if (!child().alive()) throw new Error(`A web process ended by itself:\n${child().log()}`);
    const answer = await fetch(`${url}/-/readiness`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
    await answer?.body?.cancel();
    return answer?.status === 200;
  };
  return { ...place, url, ready: async () => (await until("ready", START_TIMEOUT_MS, isReady)).took };
}

/** Names the connections, so that those of a dead process are recognized. */
function named(url: string, name: string): string {
  const address = new URL(url);
  address.searchParams.set("application_name", name);
  return address.href;
}
