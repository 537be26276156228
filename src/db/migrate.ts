import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, DatabaseError } from "pg";
import { withIncluded } from "./engine-schema.ts";
import type { Log } from "./log.ts";
import { keepPartitions } from "./partitions.ts";
import { connectionConfig } from "./sessions.ts";

interface Migration {
  readonly name: string;
  readonly checksum: string;
  readonly text: string;
}

type Applied = Pick<Migration, "name" | "checksum">;

export interface MigrateOptions {
  readonly log?: Log;
  readonly directory?: string;
}

const DIRECTORY = join(import.meta.dirname, "../../migrations");
/** A statement that waits for a lock holds up all that queue behind it, so it gives up early and tries again. */
const LOCK_TIMEOUT = 2_000;
const MOST_TRIES = 5;
const PAUSE = 1_000;
/** An arbitrary number that only this takes as an advisory lock. */
const LOCK = 7_219_352_000;

/**
 * Brings a database to the state of the migration files: each in a transaction of its own, in order of name, once.
 * A file whose first line is `-- no transaction` holds one statement that is safe to run twice, such as
 * `create index concurrently if not exists`.
 */
export async function migrate(
  url: string,
  { log, directory = DIRECTORY }: MigrateOptions = {},
): Promise<{ applied: string[] }> {
  const files = await readMigrations(directory);
  const client = new Client(connectionConfig({ url, statementTimeout: 0, lockTimeout: LOCK_TIMEOUT }));
  // A break is told to the statement that runs; without a listener it would end the process as well.
  client.on("error", () => {});
  await client.connect();
  try {
    let pending = pendingOf(files, await readApplied(client), log);
    const applied: string[] = [];
    if (pending.length > 0) {
      await takeTurn(client, log);
      pending = pendingOf(files, await readApplied(client), log);
      for (const migration of pending) {
        const began = Date.now();
        await apply(client, migration, log);
        applied.push(migration.name);
        log?.info({ migration: migration.name, ms: Date.now() - began }, "Migrated the database");
      }
    }
    await keepPartitions(client);
    return { applied };
  } finally {
    await client.end();
  }
}

/** The names of the migrations that a database still lacks. */
export async function pendingMigrations(client: Client, directory = DIRECTORY): Promise<string[]> {
  const files = await readMigrations(directory);
  return pendingOf(files, await readApplied(client), undefined).map(({ name }) => name);
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(directory, name), "utf8");
      return { name, text, checksum: hash("sha256", text) };
    }),
  );
}

async function readApplied(client: Client): Promise<Applied[]> {
  try {
    return (await client.query<Applied>('select name, checksum from schema_migrations order by name collate "C"')).rows;
  } catch (error) {
    const noSuchTable = "42P01";
    if (error instanceof DatabaseError && error.code === noSuchTable) return [];
    throw error;
  }
}

/** What is still to be applied; refuses a history that the files do not continue. */
function pendingOf(files: readonly Migration[], applied: readonly Applied[], log: Log | undefined): Migration[] {
  const checksums = new Map(applied.map(({ name, checksum }) => [name, checksum]));
  const pending = files.filter((file) => !checksums.has(file.name));
  const edited = files.find((file) => checksums.has(file.name) && checksums.get(file.name) !== file.checksum);
  if (edited) {
    throw new Error(
      `Migration ${edited.name} was changed after it was applied to this database. ` +
        "Restore the file as it was, and put the change into a new migration.",
    );
  }

  const last = files.at(-1)?.name ?? "";
  const unknown = applied.map(({ name }) => name).filter((name) => !files.some((file) => file.name === name));
  const lost = unknown.find((name) => name < last);
  if (lost !== undefined) {
    throw new Error(
      `Migration ${lost} was applied to this database, and its file is missing. ` +
        "Restore the file, or start the version of Fairlead that migrated this database.",
    );
  }
  const lastApplied = applied.at(-1)?.name ?? "";
  const late = pending.find((file) => file.name < lastApplied);
  if (late) {
    throw new Error(
      `Migration ${late.name} is new but sorts before ${lastApplied}, which this database has already. ` +
        "Give the file a higher number, so that every database applies the same files in the same order.",
    );
  }
  if (unknown.length > 0) log?.warn({ migrations: unknown }, "A newer version of Fairlead migrated this database");
  return pending;
}

/** Waits until no other process migrates; the lock ends with the connection, however that comes about. */
async function takeTurn(client: Client, log: Log | undefined) {
  const lock = await client.query<{ ours: boolean }>(`select pg_try_advisory_lock(${LOCK}) as ours`);
  if (!lock.rows[0]?.ours) {
    log?.info("Waiting for another process that migrates the database");
    await client.query(`set lock_timeout = 0; select pg_advisory_lock(${LOCK}); set lock_timeout = ${LOCK_TIMEOUT}`);
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
    if (/^-- no transaction\s*?\n/.test(migration.text)) {
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
        if (!(error instanceof DatabaseError) || error.code !== lockTimeout || tries === MOST_TRIES) throw error;
        log?.warn({ migration: migration.name }, "A table was in use for too long; trying again");
        await sleep(PAUSE);
      }
    }
  } catch (error) {
    throw new Error(`Migration ${migration.name} failed: ${(error as Error).message}`, { cause: error });
  }
}
