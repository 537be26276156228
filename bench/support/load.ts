import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { cpuOf, cpuOfServer } from "./proc.ts";
import { run, type Running } from "./processes.ts";
import type { Engine } from "./seeded.ts";

/** The rate of a load, and the microseconds of processor time per request. */
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

interface LoadRequest {
  readonly path: string;
  /** A file of tokens, one a line, that are used in turn. */
  readonly tokens: string;
  readonly connections: number;
  readonly seconds: number;
}

const WARM_UP_SECONDS = 1;

/** Sends requests as fast as the server answers; throws if any of them failed. */
export async function loadHttp(server: Running, engine: Engine, request: LoadRequest): Promise<HttpLoad> {
  await wrk(server.url, request, WARM_UP_SECONDS);
  const before = [cpuOf(server.pid), cpuOfServer(engine.pid)] as const;
  const seen = await wrk(server.url, request, request.seconds);
  const after = [cpuOf(server.pid), cpuOfServer(engine.pid)] as const;
  const { requests, microseconds, refused, broken, p50, p99 } = seen;
  if (refused + broken > 0)
    throw new Error(`${request.path}: ${refused} refused, ${broken} broken of ${requests} requests`);
  return {
    count: requests,
    perSecond: (requests / microseconds) * 1e6,
    node: (after[0] - before[0]) / requests,
    postgres: (after[1] - before[1]) / requests,
    p50: p50 / 1000,
    p99: p99 / 1000,
  };
}

interface WrkResult {
  requests: number;
  microseconds: number;
  refused: number;
  broken: number;
  p50: number;
  p99: number;
}

async function wrk(url: string, { path, tokens, connections }: LoadRequest, seconds: number): Promise<WrkResult> {
  const script = join(import.meta.dirname, "wrk.lua");
  const size = ["--threads", "1", "--connections", String(connections), "--duration", `${seconds}s`];
  const output = await run("wrk", [...size, "--script", script, `${url}${path}`, "--", tokens]);
  return JSON.parse(output.trimEnd().slice(output.trimEnd().lastIndexOf("\n"))) as WrkResult;
}

interface PgbenchRun {
  readonly file: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly seconds: number;
}

/** Runs a script in eight connections as fast as PostgreSQL answers them. */
export async function loadPostgres({ url, pid }: Engine, { file, variables, seconds }: PgbenchRun): Promise<Load> {
  const before = cpuOfServer(pid);
  const size = ["--client", "8", "--jobs", "1", "--time", String(seconds)];
  const definitions = Object.entries(variables).map(([name, value]) => `--define=${name}=${value}`);
  const output = await run("pgbench", [
    "--no-vacuum",
    "--protocol",
    "prepared",
    ...size,
    ...definitions,
    "--file",
    file,
    url,
  ]);
  // The processor time of its connections counts once the server has noticed their end.
  await pause(200);
  const spent = cpuOfServer(pid) - before;
  const count = numberIn(output, /transactions actually processed: (\d+)/);
  if (numberIn(output, /failed transactions: (\d+)/) > 0) throw new Error(`pgbench: failed transactions\n${output}`);
  const perSecond = numberIn(output, /tps = ([\d.]+)/);
  return { count, perSecond, postgres: spent / count };
}

function numberIn(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`No ${pattern} in the output:\n${text}`);
  return Number(found);
}
