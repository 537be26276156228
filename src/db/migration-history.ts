import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client, DatabaseError } from "pg";
import { connectionConfig } from "./sessions.ts";

export interface Migration {
  readonly name: string;
  readonly checksum: string;
  readonly text: string;
}

type Applied = Pick<Migration, "name" | "checksum">;

export const MIGRATIONS = join(import.meta.dirname, "../../migrations");
const STATEMENT_TIMEOUT = 5_000;

/** Whether a file holds one statement that cannot run in a transaction. */
export const isOutsideTransaction = ({ text }: Migration) => /^-- no transaction\s*?\n/.test(text);

/** The names of the migrations that are not applied yet, and of those that a later version applied. */
export async function readHistory(client: Client): Promise<{ pending: string[]; newer: readonly string[] }> {
  const { pending, newer } = compare(await readMigrations(MIGRATIONS), await readApplied(client));
  return { pending: pending.map(({ name }) => name), newer };
}

/** Why this version of Fairlead cannot run on the schema of a database; undefined if it can. */
export async function schemaProblem(url: string, directory = MIGRATIONS): Promise<string | undefined> {
  const files = await readMigrations(directory);
  const client = new Client(
    connectionConfig({ url, statementTimeout: STATEMENT_TIMEOUT, lockTimeout: STATEMENT_TIMEOUT }),
  );
  client.on("error", () => {});
  await client.connect();
  try {
    const { pending, newer } = compare(files, await readApplied(client));
    const [first] = pending;
    if (first?.name === files[0]?.name) return "The database has not been set up; run: fairlead migrate";
    if (first) return `The database lacks ${first.name}${andMore(pending.length - 1)}; run: fairlead migrate`;
    if (newer.length === 0) return undefined;
    return `A newer version of Fairlead migrated the database (${newer.at(-1)}); start that version`;
  } finally {
    await client.end();
  }
}

const andMore = (count: number) => (count === 0 ? "" : ` and ${count} more`);

export async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(directory, name), "utf8");
      return { name, text, checksum: hash("sha256", text) };
    }),
  );
}

export async function readApplied(client: Client): Promise<Applied[]> {
  try {
    return (await client.query<Applied>('select name, checksum from schema_migrations order by name collate "C"')).rows;
  } catch (error) {
    const noSuchTable = "42P01";
    if (error instanceof DatabaseError && error.code === noSuchTable) return [];
    throw error;
  }
}

interface Comparison {
  /** Still to be applied. */
  readonly pending: readonly Migration[];
  /** Applied by a later version, which has files that this one lacks. */
  readonly newer: readonly string[];
}

/** Compares the files with what was applied; throws if they do not continue the applied history. */
export function compare(files: readonly Migration[], applied: readonly Applied[]): Comparison {
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
  const newer = applied.map(({ name }) => name).filter((name) => !files.some((file) => file.name === name));
  const lost = newer.find((name) => name < last);
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
  return { pending, newer };
}
