import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { unprocessable } from "#lib/refusal.ts";

/** How many rows of a table one row of another may have, such as a project or group. */
export interface Bound {
  readonly table: keyof Database;
  readonly container: keyof Database;
  /** The column of the container's id. */
  readonly column: string;
  readonly max: number;
  /** What is refused beyond it. */
  readonly message: string;
}

/** Refuses one more row than a container may have. It is locked, so that two requests do not count the same rows. */
export async function refuseMore(tx: Tx, { table, container, column, max, message }: Bound, id: number) {
  await sql`select from ${sql.table(container)} where id = ${id} for no key update`.execute(tx);
  const { rows } = await sql`
    select from ${sql.table(table)} where ${sql.ref(column)} = ${id} limit ${sql.lit(max)}`.execute(tx);
  if (rows.length >= max) throw unprocessable(message);
}
