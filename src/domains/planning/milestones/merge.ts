import { sql } from "kysely";
import type { Tx } from "#db/database.ts";

/** The tables of the items that have milestones. */
export const PLANNED = ["issues", "merge_requests"] as const;

const BATCH_ITEMS = 1000;

/** Takes a milestone that is gone from some of its items; returns how many. */
export const clearBatch = (tx: Tx, milestoneId: number): Promise<number> => replaceBatch(tx, milestoneId, null);

/** Gives some items of a milestone another one; returns how many, 0 if that is gone. */
export const mergeBatch = async (tx: Tx, from: number, into: number): Promise<number> =>
  (await lockAgainstDeletion(tx, into)) ? replaceBatch(tx, from, into) : 0;

// The items are locked in one order, so that two jobs do not wait for each other.
async function replaceBatch(tx: Tx, from: number, into: number | null): Promise<number> {
  let replaced = 0;
  for (const table of PLANNED) {
    const items = sql.table(table);
    const { numAffectedRows = 0n } = await sql`
      update ${items} set milestone_id = ${into} where id = any(array(
        select id from ${items} where milestone_id = ${from} order by id
        limit ${sql.lit(BATCH_ITEMS)} for update))`.execute(tx);
    replaced += Number(numAffectedRows);
  }
  return replaced;
}

async function lockAgainstDeletion(tx: Tx, id: number): Promise<boolean> {
  const found = await tx.selectFrom("milestones").select("id").where("id", "=", id).forKeyShare().executeTakeFirst();
  return found !== undefined;
}

/** Deletes a namesake that no item has any more; false if another transaction just gave it to one. */
export async function removeNamesake(tx: Tx, id: number, mergedInto: number): Promise<boolean> {
  // Waits for transactions that give it to an item.
  const locked = await tx.selectFrom("milestones").select("id").where("id", "=", id).forUpdate().executeTakeFirst();
  if (!locked || !(await lockAgainstDeletion(tx, mergedInto))) return true;
  for (const table of PLANNED) {
    const item = await tx.selectFrom(table).select("id").where("milestone_id", "=", id).limit(1).executeTakeFirst();
    if (item) return false;
  }
  await tx.deleteFrom("milestones").where("id", "=", id).execute();
  return true;
}
