import { hash } from "node:crypto";
import { Client } from "pg";
import { connectionConfig } from "./sessions.ts";

/** A statement of a seed. */
export interface SeedStatement {
  readonly text: string;
  readonly values?: readonly unknown[];
  /** Repeats the statement for the numbers from 1 to `count`: `$1` and `$2` are the first and the last of each chunk. */
  readonly chunks?: { readonly count: number; readonly size: number };
}

/** Fills some tables; the same size produces the same rows. */
export interface SeedStep<Size> {
  readonly name: string;
  /** The tables that get most of the rows. */
  readonly tables: readonly string[];
  /** An empty list skips the step. */
  readonly statements: (size: Size) => readonly SeedStatement[];
  /** Removes the rows again, for a step that no later one builds on. */
  readonly clear?: string;
}

/** With more rows than this it is several times faster to build an index afterwards than to update it. */
const MANY_ROWS = 100_000;

/** Identifies the rows that a step inserts at a size. */
export const seedChecksum = <Size>(step: SeedStep<Size>, size: Size): string =>
  hash("sha256", JSON.stringify(step.statements(size)));

/** Runs a step on a connection of its own, on which its statements can share temporary tables. */
export async function runSeedStep<Size>(
  url: string,
  step: SeedStep<Size>,
  size: Size,
  report: (state: string) => void = () => {},
) {
  const statements = step.statements(size);
  if (statements.length === 0) return;
  const client = new Client(connectionConfig({ url, statementTimeout: 0, lockTimeout: 10_000 }));
  await client.connect();
  try {
    const indexes = await dropIndexes(client, step.tables, statements);
    for (const statement of statements) await run(client, statement, report);
    for (const [at, definition] of indexes.entries()) {
      report(`index ${at + 1} of ${indexes.length}`);
      await client.query(definition);
    }
    report("statistics");
    await client.query(`vacuum analyze ${step.tables.join(", ")}`);
  } finally {
    await client.end();
  }
}

/** Undoes a step. */
export async function clearSeedStep(url: string, clear: string) {
  const client = new Client(connectionConfig({ url, statementTimeout: 0, lockTimeout: 10_000 }));
  await client.connect();
  try {
    await client.query(clear);
  } finally {
    await client.end();
  }
}

async function run(client: Client, { text, values = [], chunks }: SeedStatement, report: (state: string) => void) {
  if (!chunks) {
    await client.query(text, [...values]);
    return;
  }
  const { count, size } = chunks;
  for (let done = 0; done < count; done += size) {
    report(`${Math.floor((done / count) * 100)} %`);
    await client.query(text, [done + 1, Math.min(done + size, count), ...values]);
  }
}

/** Drops the indexes of tables that gain more rows than they have, and returns their definitions. */
async function dropIndexes(client: Client, tables: readonly string[], statements: readonly SeedStatement[]) {
  const rows = Math.max(...statements.map(({ chunks }) => chunks?.count ?? 0));
  if (rows < MANY_ROWS) return [];
  const dropped: string[] = [];
  for (const table of tables) {
    const { rowCount } = await client.query(`select from ${table} offset ${rows} limit 1`);
    if (rowCount !== 0) continue;
    // An index of a partitioned table cannot be recreated from its definition.
    const { rows: indexes } = await client.query<{ indexname: string; indexdef: string }>(
      `select indexname, indexdef from pg_indexes where schemaname = 'public' and tablename = $1
         and indexdef not like '%UNIQUE%' and indexdef not like '% ON ONLY %'`,
      [table],
    );
    for (const { indexname } of indexes) await client.query(`drop index ${indexname}`);
    dropped.push(...indexes.map(({ indexdef }) => indexdef));
  }
  return dropped;
}
