import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { migrate } from "#db/migrate.ts";
import { startServer } from "#db/server.ts";

/** The variable in which the runner passes the URL of PostgreSQL to its test processes. */
export const POSTGRES_VARIABLE = "TEST_POSTGRES_URL";
const TEMPLATE = "migrated";

/** Test data need not survive a crash. */
const SETTINGS = { fsync: "off", synchronous_commit: "off", full_page_writes: "off", max_connections: 400 };

let engine: Promise<string> | undefined;
let ours: Promise<string> | undefined;

/** The database of this test process: a clone of the migrated template, shared by all tests that run in it. */
export const testDatabase = (): Promise<string> => (ours ??= freshDatabase());

/** Creates another clone, for a test that needs an empty database. */
export async function freshDatabase(): Promise<string> {
  engine ??= Promise.resolve(process.env[POSTGRES_VARIABLE] ?? startTestPostgres());
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await execute(await engine, `create database ${name} template ${TEMPLATE}`);
  return databaseOf(await engine, name);
}

/** Starts a PostgreSQL with the migrated template; it is removed when this process ends. */
export async function startTestPostgres(): Promise<string> {
  const dataDir = join(tmpdir(), `fairlead-postgres-${randomUUID()}`);
  const { url } = await startServer({ dataDir, settings: SETTINGS });
  removeAfterUs(dataDir);
  await execute(url, `create database ${TEMPLATE}`);
  await migrate(databaseOf(url, TEMPLATE));
  return url;
}

const databaseOf = (url: string, name: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href;

async function execute(url: string, statement: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Waits in a shell for this process to end and the server to stop, so that even a killed run leaves nothing behind. */
function removeAfterUs(dataDir: string) {
  const script =
    'read -r _; n=0; while [ -e "$1/postmaster.pid" ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done; rm -rf "$1"';
  const sweeper = spawn("sh", ["-c", script, "sh", dataDir], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  sweeper.unref();
  (sweeper.stdin as Socket).unref();
}
