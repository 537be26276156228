import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { cpuOf, cpuOfServer } from "./proc.ts";
import { run, type Running } from "./processes.ts";
import type { Engine } from "./seeded.ts";

/** What a load did in a second, and what each request of it cost in microseconds of processor time. */
export interface Load {
  readonly count: number;
  readonly perSecond: number;
  readonly postgres: number;
}

export interface HttpLoad extends Load {
  readonly node: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

interface Asked {
  readonly path: string;
  /** A file of tokens, one a line, that are used in turn. */
  readonly tokens: string;
  readonly connections: number;
  readonly seconds: number;
}

const WARM_UP = 1;

/** Asks a server as fast as it answers, and refuses the measurement if any answer was not the one wanted. */
export async function loadHttp(server: Running, engine: Engine, asked: Asked): Promise<HttpLoad> {
  await wrk(server.url, asked, WARM_UP);
  const before = [cpuOf(server.pid), cpuOfServer(engine.pid)] as const;
  const seen = await wrk(server.url, asked, asked.seconds);
  const after = [cpuOf(server.pid), cpuOfServer(engine.pid)] as const;
  const { requests, microseconds, refused, broken, p50, p99 } = seen;
  if (refused + broken > 0)
    throw new Error(`${asked.path}: ${refused} refused, ${broken} broken of ${requests} requests`);
  return {
    count: requests,
    perSecond: (requests / microseconds) * 1e6,
    node: (after[0] - before[0]) / requests,
    postgres: (after[1] - before[1]) / requests,
    p50: p50 / 1000,
    p99: p99 / 1000,
  };
}

interface Seen {
  requests: number;
  microseconds: number;
  refused: number;
  broken: number;
  p50: number;
  p99: number;
}

async function wrk(url: string, { path, tokens, connections }: Asked, seconds: number): Promise<Seen> {
  const script = join(import.meta.dirname, "wrk.lua");
  const size = ["--threads", "1", "--connections", String(connections), "--duration", `${seconds}s`];
  const printed = await run("wrk", [...size, "--script", script, `${url}${path}`, "--", tokens]);
  return JSON.parse(printed.trimEnd().slice(printed.trimEnd().lastIndexOf("\n"))) as Seen;
}

interface Scripted {
  readonly file: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly seconds: number;
}

/** Runs a script in eight connections as fast as PostgreSQL answers them. */
export async function loadPostgres({ url, pid }: Engine, { file, variables, seconds }: Scripted): Promise<Load> {
  const before = cpuOfServer(pid);
  const size = ["--client", "8", "--jobs", "1", "--time", String(seconds)];
  const given = Object.entries(variables).map(([name, value]) => `--define=${name}=${value}`);
  const printed = await run("pgbench", [
    "--no-vacuum",
    "--protocol",
    "prepared",
    ...size,
    ...given,
    "--file",
    file,
    url,
  ]);
  // Its connections end with it, and their time counts once the server has seen them end.
  await pause(200);
  const spent = cpuOfServer(pid) - before;
  const count = numberIn(printed, /transactions actually processed: (\d+)/);
  if (numberIn(printed, /failed transactions: (\d+)/) > 0) throw new Error(`pgbench: failed transactions\n${printed}`);
  const perSecond = numberIn(printed, /tps = ([\d.]+)/);
  return { count, perSecond, postgres: spent / count };
}

function numberIn(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`No ${pattern} in what was printed:\n${text}`);
  return Number(found);
}
