import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { startServer } from "#db/server.ts";
import { runAfterExit, until } from "./supervisor.ts";

const run = promisify(execFile);
const QUERY_TIMEOUT_MS = 10_000;
const EXIT_TIMEOUT_MS = 5_000;

/** A PostgreSQL with the settings of production, which can be killed and restarted. */
export interface Engine {
  readonly url: string;
  /** The path of its socket. */
  readonly socket: string;
  start(): Promise<void>;
  /** `kill -9` of the server with all its processes at once. */
  kill(): Promise<void>;
  /** Runs a statement on a connection of its own. */
  query<Row extends object>(statement: string, values?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export async function makeEngine(): Promise<Engine> {
  const home = await mkdtemp(join(tmpdir(), "fairlead-faults-"));
  // The unprivileged user that PostgreSQL runs as must be able to enter.
  await chmod(home, 0o755);
  const dataDir = join(home, "postgres");
  const removeWhenStopped = 'n=0; while [ -e "$2" ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done; rm -rf "$1"';
  runAfterExit(removeWhenStopped, home, join(dataDir, "postmaster.pid"));

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
      // A paused server starts no further process while its children are looked up.
      process.kill(first, "SIGSTOP");
      const family = [first, ...(await childrenOf(first))];
      for (const pid of family) killProcess(pid);
      await Promise.all(family.map(gone));
    },
    async query<Row extends object>(statement: string, values: unknown[] = []) {
      const client = new pg.Client({
        connectionString: url,
        application_name: "checker",
        statement_timeout: QUERY_TIMEOUT_MS,
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

function killProcess(pid: number) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

const gone = (pid: number) =>
  until(`the end of process ${pid}`, EXIT_TIMEOUT_MS, async () => {
    try {
      return !process.kill(pid, 0);
    } catch {
      return true;
    }
  });
