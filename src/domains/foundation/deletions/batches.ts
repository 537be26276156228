import { type RawBuilder, sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";

export const BATCH_ROWS = 5000;

/** Deletes up to 5000 rows that meet a condition and returns how many it deleted. */
export async function removeBatch(tx: Tx, table: keyof Database, condition: RawBuilder<unknown>): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from ${sql.table(table)} where ctid = any(array(
      select ctid from ${sql.table(table)} where ${condition} limit ${sql.lit(BATCH_ROWS)}))`.execute(tx);
  return Number(numAffectedRows);
}

/** Sets a column that names one user to another user or null, in up to 5000 rows; returns how many. */
export async function reassignBatch(
  tx: Tx,
  table: keyof Database,
  column: string,
  userId: number,
  newOwnerId: number | null,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update ${sql.table(table)} set ${sql.ref(column)} = ${newOwnerId} where id = any(array(
      select id from ${sql.table(table)} where ${sql.ref(column)} = ${userId} limit ${sql.lit(BATCH_ROWS)}))`.execute(
    tx,
  );
  return Number(numAffectedRows);
}
