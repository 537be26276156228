import { type RawBuilder, sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import type { Batch, UserBatch } from "./deletions.ts";

export const BATCH_ROWS = 5000;

/** Deletes up to 5000 rows that meet a condition and returns how many it deleted. */
export async function removeBatch(tx: Tx, table: keyof Database, condition: RawBuilder<unknown>): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from ${sql.table(table)} where ctid = any(array(
      select ctid from ${sql.table(table)} where ${condition} limit ${sql.lit(BATCH_ROWS)}))`.execute(tx);
  return Number(numAffectedRows);
}

/** Deletes the rows of a table that name the user in a column. */
export const removeOfUser =
  (table: keyof Database, column: string): UserBatch =>
  (tx, { id }) =>
    removeBatch(tx, table, sql`${sql.ref(column)} = ${id}`);

/** Deletes the rows of a table that name the groups or projects in a column. */
export const removeOfContainers =
  (table: keyof Database, column: string): Batch =>
  (tx, ids) =>
    removeBatch(tx, table, sql`${sql.ref(column)} = any(${ids}::bigint[])`);

/** Sets a column that names the user to the new owner, or null. */
export const reassignOfUser =
  (table: keyof Database, column: string): UserBatch =>
  async (tx, { id, newOwnerId }) => {
    const { numAffectedRows = 0n } = await sql`
      update ${sql.table(table)} set ${sql.ref(column)} = ${newOwnerId} where id = any(array(
        select id from ${sql.table(table)} where ${sql.ref(column)} = ${id} limit ${sql.lit(BATCH_ROWS)}))`.execute(tx);
    return Number(numAffectedRows);
  };
