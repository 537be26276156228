import { Client } from "pg";
import { withIncluded } from "./engine-schema.ts";
import { compare, isOutsideTransaction, MIGRATIONS, readApplied, readMigrations } from "./migration-history.ts";
import { connectionConfig } from "./sessions.ts";

/** What a migration would do. */
export type RehearsedMigration =
  | {
      readonly name: string;
      readonly ms: number;
      /** The locks on existing tables, such as `ACCESS EXCLUSIVE on users`, which it holds until it commits. */
      readonly locks: readonly string[];
    }
  | {
      readonly name: string;
      /** Runs outside a transaction and cannot be rehearsed. */
      readonly statement: string;
    };

const LOCK_TIMEOUT = 2_000;
/** The modes of table locks, from the weakest to the strongest. */
const MODES = [
  "ACCESS SHARE",
  "ROW SHARE",
  "ROW EXCLUSIVE",
  "SHARE UPDATE EXCLUSIVE",
  "SHARE",
  "SHARE ROW EXCLUSIVE",
  "EXCLUSIVE",
  "ACCESS EXCLUSIVE",
];

/** Runs the pending migrations in one transaction, reads the locks that each takes, and rolls everything back. */
export async function rehearseMigrations(url: string, directory = MIGRATIONS): Promise<RehearsedMigration[]> {
  const files = await readMigrations(directory);
  const client = new Client(connectionConfig({ url, statementTimeout: 0, lockTimeout: LOCK_TIMEOUT }));
  client.on("error", () => {});
  await client.connect();
  try {
    const { pending } = compare(files, await readApplied(client));
    await client.query("begin");
    const tables = await tablesOf(client);
    const held = new Set<string>();
    const rehearsed: RehearsedMigration[] = [];
    for (const migration of pending) {
      if (isOutsideTransaction(migration)) {
        const [, ...statement] = migration.text.split("\n");
        rehearsed.push({ name: migration.name, statement: statement.join("\n").trim() });
        continue;
      }
      const began = Date.now();
      await client.query(await withIncluded(migration.text)).catch((error: Error) => {
        throw new Error(`Migration ${migration.name} would fail: ${error.message}`, { cause: error });
      });
      const ms = Date.now() - began;
      // The locks of the migrations before are still held.
      const locks = (await locksOn(client, tables)).filter((lock) => !held.has(lock));
      for (const lock of locks) held.add(lock);
      rehearsed.push({ name: migration.name, ms, locks });
    }
    return rehearsed;
  } finally {
    await client.query("rollback").catch(() => {});
    await client.end();
  }
}

/** The tables by id; one that a migration creates or drops has no name to look up afterwards, or is in nobody's way. */
async function tablesOf(client: Client): Promise<Map<number, string>> {
  const { rows } = await client.query<{ oid: number; name: string }>(
    `select oid, oid::regclass::text as name from pg_class
     where relkind in ('r', 'p', 'm') and relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`,
  );
  return new Map(rows.map(({ oid, name }) => [oid, name]));
}

/** The strongest lock on each of these tables that this connection holds. */
async function locksOn(client: Client, tables: ReadonlyMap<number, string>): Promise<string[]> {
  const { rows } = await client.query<{ oid: number; modes: string[] }>(
    `select relation as oid, array_agg(mode) as modes from pg_locks
     where pid = pg_backend_pid() and locktype = 'relation' group by relation`,
  );
  const locks: string[] = [];
  for (const { oid, modes } of rows) {
    const table = tables.get(oid);
    const strongest = Math.max(...modes.map(rankOf));
    if (table !== undefined) locks.push(`${MODES[strongest]} on ${table}`);
  }
  return locks.toSorted();
}

/** PostgreSQL writes `ACCESS EXCLUSIVE` as `AccessExclusiveLock`. */
const rankOf = (mode: string) => MODES.findIndex((known) => `${known.replaceAll(" ", "")}LOCK` === mode.toUpperCase());
