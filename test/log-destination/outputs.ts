import { type ChildProcess, execFileSync, type StdioPipe } from "node:child_process";
import { closeSync, openSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { until } from "#test/support/until.ts";
import type { Server } from "./server.ts";

/** A standard output that something is wrong with. */
export interface Output {
  readonly stdout: number | StdioPipe;
  /** Looks after the output from the start of the server. */
  attach(child: ChildProcess): void;
  /** Begins the trouble once the server is ready. */
  begin?(server: Server): void;
  /** Ends the trouble, if it ends, and tells what is wrong with what was written. */
  end?(server: Server, requests: number): Promise<string[]>;
  close?(): Promise<void>;
}

/** Bytes of a limited file: the last line that fits is cut. */
const MAX_FILE_BYTES = 100_000;
const SLOW_READ_INTERVAL_MS = 500;
const RECOVERY_LIMIT_MS = 30_000;

export const OUTPUTS: Readonly<Record<string, () => Promise<Output>>> = {
  "full disk": async () => {
    const stdout = openSync("/dev/full", "w");
    return {
      stdout,
      attach: () => {},
      end: allDropped,
      close: async () => closeSync(stdout),
    };
  },

  "disk that was full for a while": async () => {
    const directory = await mkdtemp(join(tmpdir(), "fairlead-log-"));
    const file = join(directory, "log");
    const stdout = openSync(file, "w");
    const limit = (server: Server, bytes: string) =>
      execFileSync("prlimit", ["--pid", String(server.child.pid), `--fsize=${bytes}:`]);
    return {
      stdout,
      attach: () => {},
      begin: (server) => void limit(server, String(statSync(file).size + MAX_FILE_BYTES)),
      end(server, requests) {
        limit(server, "unlimited");
        return problemsAfterwards(server, requests, () => readFileSync(file, "utf8"));
      },
      async close() {
        closeSync(stdout);
        await rm(directory, { recursive: true });
      },
    };
  },

  "reader that went away": async () => ({
    stdout: "pipe",
    attach: ({ stdout }) => void stdout?.once("data", () => stdout.destroy()),
    end: allDropped,
  }),

  "reader that stops": async () => ({ stdout: "pipe", attach: () => {} }),

  "slow reader": async () => {
    let output: Readable;
    let text = "";
    let timer: NodeJS.Timeout;
    return {
      stdout: "pipe",
      attach(child) {
        output = child.stdout as Readable;
        output.setEncoding("utf8");
        timer = setInterval(() => (text += output.read() ?? ""), SLOW_READ_INTERVAL_MS);
      },
      end(server, requests) {
        clearInterval(timer);
        output.on("data", (chunk: string) => (text += chunk));
        return problemsAfterwards(server, requests, () => text);
      },
      close: async () => clearInterval(timer),
    };
  },
};

async function allDropped(server: Server, requests: number): Promise<string[]> {
  const counted = async () => (await server.dropped()) >= requests;
  await until("all lines are counted as dropped", counted, RECOVERY_LIMIT_MS);
  return [];
}

/** Every request has its line or is among those that were dropped, and the log says how many those are. */
async function problemsAfterwards(server: Server, requests: number, read: () => string): Promise<string[]> {
  const linesOf = () => read().split("\n").slice(0, -1).map(parsed);
  const writtenIn = (lines: readonly Line[]) => lines.filter((line) => line?.["status"] !== undefined).length;
  const isComplete = async () => {
    const lines = linesOf();
    const dropped = sumOf(lines);
    return dropped === (await server.dropped()) && writtenIn(lines) + dropped >= requests;
  };
  await until("each line is written, or dropped and told of", isComplete, RECOVERY_LIMIT_MS);
  const lines = linesOf();
  const cut = lines.filter((line) => line === undefined).length;
  const problems: string[] = [];
  if (sumOf(lines) === 0) problems.push("nothing was dropped, so that this proves nothing");
  if (cut > 1) problems.push(`${cut} lines were cut`);
  return problems;
}

type Line = Readonly<Record<string, unknown>> | undefined;

function parsed(text: string): Line {
  try {
    return text === "" || !text.startsWith("{") ? {} : (JSON.parse(text) as Record<string, unknown>);
  } catch {
    return undefined;
  }
}

const sumOf = (lines: readonly Line[]) =>
  lines
    .filter((line) => line?.["msg"] === "dropped log lines that could not be written")
    .reduce((sum, line) => sum + Number(line?.["lines"]), 0);
