import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const program = join(import.meta.dirname, "../../bin/fairlead");
const LIMIT = 60_000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  stdout(): string;
  /** Waits until the output holds what is looked for, and gives the match. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  /** Asks the process to stop and waits until it has. */
  stop(): Promise<Ended>;
  ended: Promise<Ended>;
}

/** Starts `fairlead` with these arguments and settings, and with none of the settings of whoever runs the tests. */
export function start(args: readonly string[], env: Readonly<Record<string, string>>): Running {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("FAIRLEAD_"));
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    // Several run at once, and only one would have the usual port.
    env: { ...Object.fromEntries(inherited), FAIRLEAD_SSH_PORT: "0", ...env },
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
    ended,
    async says(pattern) {
      const deadline = Date.now() + LIMIT;
      for (;;) {
        const found = pattern.exec(stdout);
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

/** Runs a command to its end. */
export const fairlead = (args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> =>
  start(args, env).ended;

/** A directory for one test that the unprivileged user of the trial engine can enter as well. */
export async function withDirectory(work: (directory: string) => Promise<void>) {
  const directory = await mkdtemp(join(tmpdir(), "fairlead-test-"));
  try {
    await chmod(directory, 0o755);
    await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
