import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const root = join(import.meta.dirname, "../..");
const STOP_LIMIT = 15_000;
const LOG_KEPT = 20_000;
const POLL = 20;

/** A real process of ours that is started to be hurt. */
export interface Process {
  readonly name: string;
  readonly pid: number;
  alive(): boolean;
  /** `kill -9`; over when the process is gone. */
  kill(): Promise<void>;
  /** SIGSTOP: the process stands still and does not know it. */
  pause(): void;
  resume(): void;
  paused(): boolean;
  /** SIGTERM, and `kill -9` for what does not listen. */
  stop(): Promise<void>;
  /** The end of what it wrote to its output. */
  log(): string;
  /** Whether it ended by a failure of its own. */
  failed(): boolean;
}

/** Starts a program of ours with these settings and none of whoever runs the tests. */
export function startProcess(
  name: string,
  program: string,
  args: readonly string[],
  env: Record<string, string>,
): Process {
  const inherited = Object.entries(process.env).filter(([key]) => !key.startsWith("FAIRLEAD_"));
  const child = spawn(join(root, program), args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...Object.fromEntries(inherited), ...env },
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} did not start`);
  let log = "";
  const keep = (chunk: string) => (log = (log + chunk).slice(-LOG_KEPT));
  child.stdout.setEncoding("utf8").on("data", keep);
  child.stderr.setEncoding("utf8").on("data", keep);
  const ended = once(child, "exit");
  const watcher = afterUs('kill -KILL "$1"', String(pid));
  void ended.then(() => watcher.kill("SIGKILL"));
  let paused = false;
  const alive = () => child.exitCode === null && child.signalCode === null;

  return {
    name,
    pid,
    alive,
    log: () => log,
    failed: () => (child.exitCode ?? 0) !== 0,
    paused: () => paused,
    pause() {
      paused = child.kill("SIGSTOP");
    },
    resume() {
      paused = !child.kill("SIGCONT");
    },
    async kill() {
      if (!alive()) return;
      child.kill("SIGKILL");
      await ended;
    },
    async stop() {
      if (!alive()) return;
      child.kill("SIGCONT");
      child.kill("SIGTERM");
      const giveUp = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT);
      await ended;
      clearTimeout(giveUp);
    },
  };
}

/** Runs a shell script once this process is gone, however it ended: even `kill -9` closes its end of the pipe. */
export function afterUs(script: string, ...args: string[]): ChildProcess {
  const watcher = spawn("sh", ["-c", `read -r _; ${script}`, "sh", ...args], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.unref();
  (watcher.stdin as Socket).unref();
  return watcher;
}

/** Waits until `found` gives something, and says how long it took. */
export async function until<T>(
  what: string,
  limit: number,
  found: () => Promise<T | undefined | false>,
): Promise<{ value: T; took: number }> {
  const from = performance.now();
  for (;;) {
    const value = await found();
    const took = performance.now() - from;
    if (value !== undefined && value !== false) return { value, took };
    if (took > limit) throw new Error(`${what}: not within ${limit / 1000} s`);
    await sleep(POLL);
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
