import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { startServer } from "#db/server.ts";
import { afterUs, until } from "./supervisor.ts";

const run = promisify(execFile);
const QUERY_LIMIT = 10_000;
const END_LIMIT = 5_000;

/** A PostgreSQL with a data directory of its own and the settings of production, to be killed and started again. */
export interface Engine {
  readonly url: string;
  /** Where it listens. */
  readonly socket: string;
  start(): Promise<void>;
  /** `kill -9` of the server with all its processes at once, which leaves it as a loss of power to it alone would. */
  kill(): Promise<void>;
  /** Asks past all that is tested, on a connection of its own. */
  ask<Row extends object>(statement: string, values?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export async function makeEngine(): Promise<Engine> {
  const home = await mkdtemp(join(tmpdir(), "fairlead-faults-"));
  // The unprivileged user that PostgreSQL runs as must be able to enter.
  await chmod(home, 0o755);
  const dataDir = join(home, "postgres");
  const patience = 'n=0; while [ -e "$2" ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done; rm -rf "$1"';
  afterUs(patience, home, join(dataDir, "postmaster.pid"));

  const start = () => startServer({ dataDir, settings: { max_connections: 300 } });
  let server = await start();
  const { url } = server;

  return {
    url,
    socket: join(decodeURIComponent(new URL(url).hostname), ".s.PGSQL.5432"),
    async start() {
      server = await start();
    },
    async kill() {
      const first = Number.parseInt(await readFile(join(dataDir, "postmaster.pid"), "utf8"), 10);
      // A server that stands still starts no further process while the others are looked up.
      process.kill(first, "SIGSTOP");
      const family = [first, ...(await childrenOf(first))];
      for (const pid of family) killed(pid);
      await Promise.all(family.map(gone));
    },
    async ask<Row extends object>(statement: string, values: unknown[] = []) {
      const client = new pg.Client({
        connectionString: url,
        application_name: "checker",
        statement_timeout: QUERY_LIMIT,
      });
      client.on("error", () => {});
      try {
        await client.connect();
        return (await client.query<Row>(statement, values)).rows;
      } finally {
        await client.end();
      }
    },
    async close() {
      await server.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function childrenOf(parent: number): Promise<number[]> {
  const { stdout } = await run("ps", ["-A", "-o", "pid=,ppid="]);
  const pairs = stdout.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([pid, ppid]) => (pid !== undefined && ppid === parent ? [pid] : []));
}

function killed(pid: number) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself a moment ago.
  }
}

const gone = (pid: number) =>
  until(`the end of process ${pid}`, END_LIMIT, async () => {
    try {
      return !process.kill(pid, 0);
    } catch {
      return true;
    }
  });
