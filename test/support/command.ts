import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runProgram } from "#commands/program.ts";
import { PATIENT } from "./limits.ts";

const program = join(import.meta.dirname, "../../bin/fairlead");
const OUTPUT_TIMEOUT_MS = 120_000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  stdout(): string;
  stderr(): string;
  /** Waits until the output matches, and returns the match. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  /** Stops the process by SIGTERM and waits for its end. */
  stop(): Promise<Ended>;
  ended: Promise<Ended>;
}

/** Starts `fairlead` with these arguments and settings, and without the settings of the environment. */
export function start(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  options: { readonly uid?: number } = {},
): Running {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("FAIRLEAD_"));
  const child = spawn(program, args, {
    ...options,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...Object.fromEntries(inherited), ...settings(env) },
  });
  const killAtExit = () => child.kill("SIGKILL");
  process.once("exit", killAtExit);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  const ended = once(child, "close").then(([code]): Ended => {
    process.removeListener("exit", killAtExit);
    return { code: code as number | null, stdout, stderr };
  });
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    async says(pattern) {
      const deadline = Date.now() + OUTPUT_TIMEOUT_MS;
      for (;;) {
        const found = pattern.exec(stdout) ?? pattern.exec(stderr);
        if (found) return found;
        const over = child.exitCode !== null || child.signalCode !== null;
        if (over || Date.now() > deadline) throw new Error(`fairlead never said ${pattern}:\n${stdout}\n${stderr}`);
        await sleep(20);
      }
    },
    stop() {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

/** Runs a command to its end in this process; one that serves needs a process of its own. */
export async function fairlead(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  const printed = { stdout: "", stderr: "" };
  const code = await runProgram(args, {
    env: settings(env),
    print: (line) => (printed.stdout += `${line}\n`),
    printAside: (line) => (printed.stderr += `${line}\n`),
  });
  return { code, ...printed };
}

/** The same as a user runs it. */
export const fairleadProcess = (args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> =>
  start(args, env).ended;

// Several run at the same time, and only one could use the default port.
const settings = (env: Readonly<Record<string, string>>) => ({ FAIRLEAD_SSH_PORT: "0", ...PATIENT, ...env });

/** Runs a test with a directory that the unprivileged user of the trial server can enter too. */
export async function withDirectory(work: (directory: string) => Promise<void>) {
  const directory = await mkdtemp(join(tmpdir(), "fairlead-test-"));
  try {
    await chmod(directory, 0o755);
    await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
