import { setTimeout as sleep } from "node:timers/promises";
import { Client, DatabaseError } from "pg";
import { withIncluded } from "./engine-schema.ts";
import type { Log } from "./log.ts";
import {
  compare,
  isOutsideTransaction,
  type Migration,
  MIGRATIONS,
  readApplied,
  readMigrations,
} from "./migration-history.ts";
import { createPartitions } from "./partitions.ts";
import { connectionConfig } from "./sessions.ts";

export interface MigrateOptions {
  readonly log?: Log;
  readonly directory?: string;
}

/** A statement that waits for a lock blocks all that queue behind it, so it gives up early and is retried. */
const LOCK_TIMEOUT_MS = 2_000;
const MAX_ATTEMPTS = 5;
const RETRY_PAUSE_MS = 1_000;
/** An arbitrary key for the advisory lock of migrations. */
const LOCK = 7_219_352_000;

/**
 * Brings a database to the state of the migration files: each in a transaction of its own, in order of name, once.
 * A file whose first line is `-- no transaction` holds one statement that is safe to run twice, such as
 * `create index concurrently if not exists`.
 */
export async function migrate(
  url: string,
  { log, directory = MIGRATIONS }: MigrateOptions = {},
): Promise<{ applied: string[] }> {
  const files = await readMigrations(directory);
  const client = new Client(connectionConfig({ url, statementTimeout: 0, lockTimeout: LOCK_TIMEOUT_MS }));
  // A lost connection fails the running statement; without a listener it would also end the process.
  client.on("error", () => {});
  await client.connect();
  try {
    const { pending: due, newer } = compare(files, await readApplied(client));
    if (newer.length > 0) log?.warn({ migrations: newer }, "A newer version of Fairlead migrated this database");
    const applied: string[] = [];
    if (due.length > 0) {
      await lockMigrations(client, log);
      const { pending } = compare(files, await readApplied(client));
      for (const migration of pending) {
        const began = Date.now();
        await apply(client, migration, log);
        applied.push(migration.name);
        log?.info({ migration: migration.name, ms: Date.now() - began }, "Migrated the database");
      }
    }
    await createPartitions(client);
    return { applied };
  } finally {
    await client.end();
  }
}

/** Waits until no other process migrates; the lock is released with the connection. */
async function lockMigrations(client: Client, log: Log | undefined) {
  const lock = await client.query<{ ours: boolean }>(`select pg_try_advisory_lock(${LOCK}) as ours`);
  if (!lock.rows[0]?.ours) {
    log?.info("Waiting for another process that migrates the database");
    await client.query(`set lock_timeout = 0; select pg_advisory_lock(${LOCK}); set lock_timeout = ${LOCK_TIMEOUT_MS}`);
  }
  await client.query(
    "create table if not exists schema_migrations" +
      " (name text primary key, checksum text not null, applied_at timestamptz(3) not null default now())",
  );
}

async function apply(client: Client, migration: Migration, log: Log | undefined) {
  const record = () =>
    client.query("insert into schema_migrations (name, checksum) values ($1, $2)", [
      migration.name,
      migration.checksum,
    ]);
  try {
    if (isOutsideTransaction(migration)) {
      await client.query(migration.text);
      await record();
      return;
    }
    for (let tries = 1; ; tries++) {
      try {
        await client.query("begin");
        await client.query(await withIncluded(migration.text));
        await record();
        await client.query("commit");
        return;
      } catch (error) {
        await client.query("rollback").catch(() => {});
        const lockTimeout = "55P03";
        if (!(error instanceof DatabaseError) || error.code !== lockTimeout || tries === MAX_ATTEMPTS) throw error;
        log?.warn({ migration: migration.name }, "A table was in use for too long; trying again");
        await sleep(RETRY_PAUSE_MS);
      }
    }
  } catch (error) {
    throw new Error(`Migration ${migration.name} failed: ${(error as Error).message}`, { cause: error });
  }
}
