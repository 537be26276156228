import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex, Readable } from "node:stream";
import { BACKGROUND, type Consumer } from "#lib/consumer.ts";
import { unavailable } from "#lib/refusal.ts";
import { answerHook } from "./hook-channel.ts";
import { gitSlots, type SlotClass, type SlotLimits } from "./slots.ts";
import { type ConfirmPush, GitFailed, PLUMBING, type Running } from "./storages/storage.ts";

/** One run of git. */
export interface GitCall {
  readonly args: readonly string[];
  /** Added to the environment of every git process; nothing of this process's own environment is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  /** Its whole input, or with `interactive` the beginning of it. */
  readonly input?: string | Buffer | undefined;
  /** Whether the caller writes to the `input` of the process and ends it. */
  readonly interactive?: boolean | undefined;
  /** Answers the hook `pre-receive`, which asks on descriptor 3. */
  readonly confirm?: ConfirmPush | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly slot: SlotClass;
  /** The bytes it may allocate, if other than the limit of its slot class. */
  readonly memory?: number;
  /** The consumer charged for the slot; by default background work. */
  readonly consumer?: Consumer | undefined;
}

/** Counts the outcome of each process. */
export interface GitMeter {
  ended(operation: string, outcome: GitOutcome, seconds: number): void;
  refused(slot: SlotClass): void;
}

export type GitOutcome = "ok" | "failed" | "timeout" | "stopped" | "out_of_memory";

export interface SlotUsage {
  readonly slotClass: SlotClass;
  readonly slots: number;
  readonly inUse: number;
  readonly waiting: number;
}

export interface GitProcesses {
  /** Starts git as soon as a slot is granted; refused when too many wait already, or for too long. */
  start(call: GitCall): Promise<Running>;
  /** The slots of each class that has a limit. */
  slotUsage(): SlotUsage[];
  /** Stops all processes and starts no more. */
  close(): Promise<void>;
}

const MAX_STDERR_CHARS = 64 * 1024;
/** Git cleans up its temporary files on SIGTERM, so SIGKILL follows only after this time. */
const KILL_GRACE_MS = 2_000;
/** The beginning of the error of a process that took too long. */
const OUT_OF_TIME = "out of time";

interface GitProcessesOptions extends SlotLimits {
  readonly searchPath: string;
  readonly meter?: GitMeter;
}

/** The git processes of this process. */
export function gitProcesses({ searchPath, meter, ...limits }: GitProcessesOptions): GitProcesses {
  const slots = gitSlots(limits);
  const env = {
    PATH: searchPath,
    HOME: "/nonexistent",
    LANG: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
  };
  const alive = new Set<Started>();
  let closed = false;

  async function start(call: GitCall): Promise<Running> {
    const { semaphore, memory, claimOf } = slots[call.slot];
    const claim = { ...claimOf(call.consumer ?? BACKGROUND), signal: call.signal };
    const release = await semaphore?.acquire(claim).catch((error: unknown) => {
      if (!call.signal?.aborted) meter?.refused(call.slot);
      throw error;
    });
    if (closed) {
      release?.();
      throw unavailable();
    }
    const began = performance.now();
    const started = startGit(call, call.memory ?? memory, { ...env, ...call.env });
    alive.add(started);
    void started.ended
      .then(() => "ok" as const, outcomeOf)
      .then((outcome) => meter?.ended(operationOf(call), outcome, (performance.now() - began) / 1000));
    void started.gone.then(() => {
      alive.delete(started);
      release?.();
    });
    return started;
  }

  return {
    start,
    slotUsage: () =>
      (Object.keys(slots) as SlotClass[]).flatMap((slotClass) => {
        const usage = slots[slotClass].semaphore?.usage();
        return usage ? [{ slotClass, ...usage }] : [];
      }),
    async close() {
      closed = true;
      for (const git of alive) git.stop();
      await Promise.all([...alive].map((git) => git.gone));
    },
  };
}

const METERED: ReadonlySet<string> = new Set([
  ...PLUMBING,
  ...["upload-pack", "receive-pack", "init", "version"],
  ...["pack-refs", "repack", "commit-graph", "prune", "pack-objects", "index-pack"],
]);

/** The operation in metrics, from a closed set. A batch process serves many queries and lasts long, so it is counted apart. */
function operationOf({ slot, args }: GitCall): string {
  if (slot === "batch") return "batch";
  return args.find((arg) => METERED.has(arg)) ?? "other";
}

function outcomeOf(error: unknown): GitOutcome {
  if (!(error instanceof GitFailed)) return "failed";
  if (error.outOfMemory) return "out_of_memory";
  if (error.stderr.startsWith(OUT_OF_TIME)) return "timeout";
  return error.exitCode === null ? "stopped" : "failed";
}

/** Reads a whole stream that is known to be small. */
export async function collect(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

interface Started extends Running {
  /** Resolves when the process has ended, successfully or not. */
  readonly gone: Promise<void>;
}

/**
 * Limits what git and each of its children may allocate, then becomes git. Memory-mapped packs do not count, so a large
 * repository needs no higher limit. The shell does not interpret the arguments.
 */
const LIMITED_GIT = 'ulimit -d "$0" 2>/dev/null; exec git "$@"';

function startGit(call: GitCall, memory: number, env: Record<string, string>): Started {
  const child = spawnGit(call, memory, env);
  if (call.confirm) answerHook(child.stdio[3] as Duplex, call.confirm);
  // Git closes its input when it has read enough; its exit status tells whether it succeeded.
  child.stdin.on("error", () => {});
  child.stdout.on("error", () => {});
  const stderr = stderrTail(child);
  const { stop, stopReason, exited } = stoppable(child, call);
  // The reader has gone, so the rest of the output is not needed.
  child.stdout.once("close", () => child.stdout.readableEnded || stop("its output was closed"));

  const ended = (async () => {
    const command = call.args.find((arg) => !arg.startsWith("-")) ?? "";
    let code: number | null;
    try {
      [code] = (await exited) as [number | null];
    } catch (error) {
      throw new GitFailed(command, null, error instanceof Error ? error.message : String(error));
    }
    const text = await stderr;
    const reason = stopReason();
    if (code !== 0 || reason !== undefined) {
      throw new GitFailed(command, code, reason === undefined ? text : `${reason}\n${text}`);
    }
  })();
  ended.catch(() => {});

  if (!call.interactive) child.stdin.end(call.input ?? "");
  else if (call.input !== undefined) child.stdin.write(call.input);
  return { input: child.stdin, output: child.stdout, ended, stop, gone: ended.catch(() => {}) };
}

/** Spawns git in a process group of its own, so that signals reach its children too. */
function spawnGit(call: GitCall, memory: number, env: Record<string, string>): ChildProcessWithoutNullStreams {
  const args = ["-c", LIMITED_GIT, String(Math.floor(memory / 1024)), ...call.args];
  // The types declare only the usual three streams.
  const stdio = (call.confirm ? ["pipe", "pipe", "pipe", "pipe"] : "pipe") as "pipe";
  return spawn("sh", args, { env, cwd: "/", stdio, detached: true });
}

/** Resolves with the end of what a process wrote to stderr. */
function stderrTail({ stderr }: ChildProcessWithoutNullStreams): Promise<string> {
  let tail = "";
  stderr
    .setEncoding("utf8")
    .on("data", (text: string) => (tail = (tail + text).slice(-MAX_STDERR_CHARS)))
    .on("error", () => {});
  return new Promise((resolve) => stderr.once("close", () => resolve(tail)));
}

/** Stops a process group on timeout or when its caller aborts; once git exits, kills whatever it left running. */
function stoppable(child: ChildProcessWithoutNullStreams, { timeoutMs, signal }: GitCall) {
  let over = false;
  let stopReason: string | undefined;
  let killTimer: NodeJS.Timeout | undefined;
  const stop = (reason = "stopped") => {
    if (over || stopReason !== undefined) return;
    stopReason = reason;
    signalGroup(child, "SIGTERM");
    killTimer = setTimeout(() => signalGroup(child, "SIGKILL"), KILL_GRACE_MS);
  };
  const onAbort = () => stop("its caller is gone");
  const timer = timeoutMs < Infinity ? setTimeout(() => stop(OUT_OF_TIME), timeoutMs) : undefined;
  if (signal?.aborted) onAbort();
  signal?.addEventListener("abort", onAbort);
  const exited = once(child, "exit").finally(() => {
    over = true;
    clearTimeout(timer);
    clearTimeout(killTimer);
    signal?.removeEventListener("abort", onAbort);
    signalGroup(child, "SIGKILL");
  });
  return { stop, stopReason: () => stopReason, exited };
}

function signalGroup({ pid }: ChildProcessWithoutNullStreams, signal: NodeJS.Signals) {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // The whole group has ended.
  }
}
