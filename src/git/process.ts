import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex, Readable } from "node:stream";
import { BACKGROUND, type Consumer } from "#lib/consumer.ts";
import { unavailable } from "#lib/refusal.ts";
import { answerHook } from "./hook-channel.ts";
import { gitSlots, type SlotClass, type SlotLimits } from "./slots.ts";
import { type ConfirmPush, GitFailed, type Running } from "./storages/storage.ts";

/** One run of git: what it is told and how long it may take. */
export interface GitCall {
  readonly args: readonly string[];
  /** Beside what every git of ours gets; nothing of this process's own environment goes along. */
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Buffer | undefined;
  /** Whether the caller goes on to write to `input`. */
  readonly asked?: boolean | undefined;
  /** Answers the hook `pre-receive`, which asks on descriptor 3. */
  readonly confirm?: ConfirmPush | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds. */
  readonly timeout: number;
  readonly slot: SlotClass;
  /** Bytes that it may allocate, where that is not what its slots allow. */
  readonly memory?: number;
  /** Whose share of the slots it takes; left out, it is work of our own. */
  readonly consumer?: Consumer | undefined;
}

export interface GitProcesses {
  /** Starts git as soon as a slot is granted; refused when too many wait already, or for too long. */
  start(call: GitCall): Promise<Running>;
  /** Stops all that runs and lets nothing on any more. */
  close(): Promise<void>;
}

const KEPT_OF_STDERR = 64 * 1024;
/** Git removes what it left half-done when it is asked to end, so it is asked first. */
const GRACE = 2_000;

/** All processes of git that this process runs. */
export function gitProcesses({ searchPath, ...limits }: SlotLimits & { searchPath: string }): GitProcesses {
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
    const release = await semaphore?.acquire({ ...claimOf(call.consumer ?? BACKGROUND), signal: call.signal });
    if (closed) {
      release?.();
      throw unavailable();
    }
    const started = startGit(call, call.memory ?? memory, { ...env, ...call.env });
    alive.add(started);
    void started.gone.then(() => {
      alive.delete(started);
      release?.();
    });
    return started;
  }

  return {
    start,
    async close() {
      closed = true;
      for (const git of alive) git.stop();
      await Promise.all([...alive].map((git) => git.gone));
    },
  };
}

/** Everything that a stream has, for what is known to be small. */
export async function collect(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

interface Started extends Running {
  /** Resolved when the process is no more, however it ended. */
  readonly gone: Promise<void>;
}

/**
 * Limits what git and each of its children may allocate, then becomes git. Packs that git maps do not count, so that a
 * large repository needs no larger limit. Nothing of the arguments is read by the shell.
 */
const LIMITED_GIT = 'ulimit -d "$0" 2>/dev/null; exec git "$@"';

function startGit(call: GitCall, memory: number, env: Record<string, string>): Started {
  const args = ["-c", LIMITED_GIT, String(Math.floor(memory / 1024)), ...call.args];
  // A group of its own, so that the children of git can be ended with it.
  // The types know the usual three streams only.
  const stdio = (call.confirm ? ["pipe", "pipe", "pipe", "pipe"] : "pipe") as "pipe";
  const child = spawn("sh", args, { env, cwd: "/", stdio, detached: true });
  if (call.confirm) answerHook(child.stdio[3] as Duplex, call.confirm);
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // All of the group have ended.
    }
  };

  let stderr = "";
  child.stderr
    .setEncoding("utf8")
    .on("data", (text: string) => (stderr = (stderr + text).slice(-KEPT_OF_STDERR)))
    .on("error", () => {});
  // A git that has heard enough closes its input; how it ended tells whether that was well.
  child.stdin.on("error", () => {});
  child.stdout.on("error", () => {});

  let over = false;
  let why = "";
  let insisting: NodeJS.Timeout | undefined;
  const stop = (reason = "stopped") => {
    if (over || why !== "") return;
    why = reason;
    signalGroup("SIGTERM");
    insisting = setTimeout(() => signalGroup("SIGKILL"), GRACE);
  };
  const aborted = () => stop("its caller is gone");
  const timer = call.timeout < Infinity ? setTimeout(() => stop("out of time"), call.timeout) : undefined;
  if (call.signal?.aborted) aborted();
  call.signal?.addEventListener("abort", aborted);
  // Nobody reads on, so nobody needs the rest.
  child.stdout.once("close", () => child.stdout.readableEnded || stop("its output was closed"));

  const told = new Promise((resolve) => child.stderr.once("close", resolve));
  const exited = once(child, "exit").finally(() => {
    over = true;
    clearTimeout(timer);
    clearTimeout(insisting);
    call.signal?.removeEventListener("abort", aborted);
    signalGroup("SIGKILL");
  });
  const ended = (async () => {
    const command = call.args.find((arg) => !arg.startsWith("-")) ?? "";
    let code: number | null;
    try {
      [code] = (await exited) as [number | null];
    } catch (error) {
      throw new GitFailed(command, null, error instanceof Error ? error.message : String(error));
    }
    await told;
    if (code !== 0 || why !== "") throw new GitFailed(command, code, why === "" ? stderr : `${why}\n${stderr}`);
  })();
  ended.catch(() => {});

  if (!call.asked) child.stdin.end(call.input ?? "");
  else if (call.input !== undefined) child.stdin.write(call.input);
  return { input: child.stdin, output: child.stdout, ended, stop, gone: ended.catch(() => {}) };
}
