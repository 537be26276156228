import { type ChildProcess, spawn, type StdioPipe } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "#test/support/ports.ts";

const program = join(import.meta.dirname, "../../bin/fairlead");
const READY_LIMIT_MS = 30_000;
const RESPONSE_LIMIT_MS = 5_000;
const CLIENTS = 16;

export interface Server {
  readonly child: ChildProcess;
  /** Sends so many requests; rejects if one of them is not answered. */
  request(count: number): Promise<void>;
  /** The number of log lines that the server says it has dropped. */
  dropped(): Promise<number>;
  /** Sends SIGTERM, and returns the milliseconds until the process ended; undefined if it had to be killed. */
  stop(limitMs: number): Promise<number | undefined>;
}

/** Runs `fairlead serve` with this standard output, and waits until it is ready. */
export async function startServer(
  databaseUrl: string,
  stdout: number | StdioPipe,
  env: Record<string, string>,
  attach: (child: ChildProcess) => void,
): Promise<Server> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("FAIRLEAD_"));
  const dataDir = await mkdtemp(join(tmpdir(), "fairlead-log-"));
  const port = await freePort();
  const child = spawn(program, ["serve"], {
    stdio: ["ignore", stdout, "ignore"],
    env: {
      ...Object.fromEntries(inherited),
      FAIRLEAD_DATA_DIR: dataDir,
      FAIRLEAD_DATABASE_URL: databaseUrl,
      FAIRLEAD_PORT: String(port),
      FAIRLEAD_SSH_PORT: "off",
      FAIRLEAD_RATE_LIMITS: "off",
      ...env,
    },
  });
  const killAtExit = () => child.kill("SIGKILL");
  process.once("exit", killAtExit);
  const ended = once(child, "exit");
  attach(child);

  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const ask = (path: string) =>
    new Promise<string>((resolve, reject) => {
      const request = get({ agent, port, path, timeout: RESPONSE_LIMIT_MS }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve(text)).on("error", reject);
      });
      request.on("timeout", () => request.destroy(new Error(`no response within ${RESPONSE_LIMIT_MS} ms`)));
      request.on("error", reject);
    });
  const server: Server = {
    child,
    async request(count) {
      let begun = 0;
      const client = async () => {
        while (begun < count) await ask(pathOf(begun++));
      };
      await Promise.all(Array.from({ length: CLIENTS }, client));
    },
    async dropped() {
      const found = /^fairlead_log_lines_dropped_total (\d+)$/m.exec(await ask("/-/metrics"));
      return found ? Number(found[1]) : Number.NaN;
    },
    async stop(limitMs) {
      const began = performance.now();
      child.kill("SIGTERM");
      const giveUp = setTimeout(() => child.kill("SIGKILL"), limitMs);
      await (child.exitCode === null && child.signalCode === null ? ended : undefined);
      clearTimeout(giveUp);
      agent.destroy();
      process.removeListener("exit", killAtExit);
      await rm(dataDir, { recursive: true, force: true });
      return child.exitCode === 0 ? performance.now() - began : undefined;
    },
  };

  const deadline = Date.now() + READY_LIMIT_MS;
  while (!(await ask("/-/readiness").catch(() => "")).includes('"ok"')) {
    if (Date.now() > deadline || child.exitCode !== null) {
      const state = child.exitCode === null ? "hangs" : `ended with ${child.exitCode}`;
      await server.stop(0);
      throw new Error(`fairlead serve did not start: it ${state}`);
    }
    await sleep(50);
  }
  return server;
}

/** Most paths are long, because the log repeats them: so many lines are more than may wait for a reader. */
const pathOf = (number: number) => (number % 10 === 0 ? "/-/liveness" : `/api/v4/missing/${"x".repeat(1000)}`);
