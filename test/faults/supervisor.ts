import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const root = join(import.meta.dirname, "../..");
const STOP_TIMEOUT_MS = 15_000;
const MAX_LOG_CHARS = 20_000;
const POLL_INTERVAL_MS = 20;

/** A process of ours that can be paused and killed. */
export interface Process {
  readonly name: string;
  readonly pid: number;
  alive(): boolean;
  /** `kill -9`; resolves when the process has ended. */
  kill(): Promise<void>;
  /** SIGSTOP: the process does not notice that it is paused. */
  pause(): void;
  resume(): void;
  paused(): boolean;
  /** SIGTERM, then `kill -9` if it does not end. */
  stop(): Promise<void>;
  /** The end of its output. */
  log(): string;
  /** Whether it exited with a failure. */
  failed(): boolean;
}

/** Starts a program of ours with these settings only. */
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
  const append = (chunk: string) => (log = (log + chunk).slice(-MAX_LOG_CHARS));
  child.stdout.setEncoding("utf8").on("data", append);
  child.stderr.setEncoding("utf8").on("data", append);
  const ended = once(child, "exit");
  const watcher = runAfterExit('kill -KILL "$1"', String(pid));
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
      const giveUp = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(giveUp);
    },
  };
}

/** Runs a shell script after this process has ended, even by `kill -9`, which closes its end of the pipe. */
export function runAfterExit(script: string, ...args: string[]): ChildProcess {
  const watcher = spawn("sh", ["-c", `read -r _; ${script}`, "sh", ...args], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.unref();
  (watcher.stdin as Socket).unref();
  return watcher;
}

/** Waits until `found` returns a value, and returns it with the time that took. */
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
    await sleep(POLL_INTERVAL_MS);
  }
}
