import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

const LIMIT_MS = 180_000;

/** A shell that stays open, as a person's terminal does: directory and variables last from one command to the next. */
export interface Terminal {
  /** Runs a command, with what the person types into it; throws if it fails. */
  run(command: string, typed?: string): Promise<string>;
  close(): void;
}

export function openTerminal(cwd: string, env: NodeJS.ProcessEnv): Terminal {
  const shell = spawn("bash", ["--noprofile", "--norc"], { cwd, env, stdio: "pipe", detached: true });
  let output = "";
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  shell.stdin.write("set -o pipefail; exec 2>&1\n");
  return {
    async run(command, typed) {
      const end = randomUUID();
      output = "";
      const input = typed === undefined ? "</dev/null" : `<<< '${typed}'`;
      shell.stdin.write(`{ ${command}\n} ${input}\nprintf '\\n%s %s\\n' ${end} $?\n`);
      const deadline = Date.now() + LIMIT_MS;
      for (;;) {
        const [all, code] = new RegExp(`\\n${end} (\\d+)\\n`).exec(output) ?? [];
        if (all !== undefined) {
          const said = output.slice(0, output.indexOf(all));
          if (code !== "0") throw new Error(`ended with ${code}:\n${said}`);
          return said;
        }
        if (Date.now() > deadline || shell.exitCode !== null) throw new Error(`did not end:\n${output}`);
        await sleep(20);
      }
    },
    close: () => killGroup(shell.pid, "SIGKILL"),
  };
}

/** A program that goes on in a terminal of its own. */
export interface Program {
  /** Waits until it has said something. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  stop(): Promise<void>;
}

export function startProgram(command: string, cwd: string, env: NodeJS.ProcessEnv): Program {
  const child = spawn("bash", ["-c", command], { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const closed = once(child, "close");
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  return {
    async says(pattern) {
      const deadline = Date.now() + LIMIT_MS;
      for (;;) {
        const found = pattern.exec(output);
        if (found) return found;
        if (Date.now() > deadline || child.exitCode !== null) throw new Error(`never said ${pattern}:\n${output}`);
        await sleep(20);
      }
    },
    async stop() {
      killGroup(child.pid, "SIGTERM");
      await closed;
    },
  };
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // It has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
