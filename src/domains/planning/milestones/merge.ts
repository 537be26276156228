import { sql } from "kysely";
import type { Tx } from "#db/database.ts";

const BATCH_ISSUES = 1000;

/** Takes a milestone that is gone from some of its issues; returns how many. */
export const clearBatch = (tx: Tx, milestoneId: number): Promise<number> => replaceBatch(tx, milestoneId, null);

/** Gives some issues of a milestone another one; returns how many, 0 if that is gone. */
export const mergeBatch = async (tx: Tx, from: number, into: number): Promise<number> =>
  (await lockAgainstDeletion(tx, into)) ? replaceBatch(tx, from, into) : 0;

// The issues are locked in one order, so that two jobs do not wait for each other.
async function replaceBatch(tx: Tx, from: number, into: number | null): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update issues set milestone_id = ${into} where id = any(array(
      select id from issues where milestone_id = ${from} order by id limit ${sql.lit(BATCH_ISSUES)} for update))`.execute(
    tx,
  );
  return Number(numAffectedRows);
}

async function lockAgainstDeletion(tx: Tx, id: number): Promise<boolean> {
  const found = await tx.selectFrom("milestones").select("id").where("id", "=", id).forKeyShare().executeTakeFirst();
  return found !== undefined;
}

/** Deletes a namesake that has no issues left; false if another transaction just gave it to one. */
export async function removeNamesake(tx: Tx, id: number, mergedInto: number): Promise<boolean> {
  // Waits for transactions that give it to an issue.
  const locked = await tx.selectFrom("milestones").select("id").where("id", "=", id).forUpdate().executeTakeFirst();
  if (!locked || !(await lockAgainstDeletion(tx, mergedInto))) return true;
  const issue = await tx.selectFrom("issues").select("id").where("milestone_id", "=", id).limit(1).executeTakeFirst();
  if (issue) return false;
  await tx.deleteFrom("milestones").where("id", "=", id).execute();
  return true;
}
