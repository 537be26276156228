import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { unchanged } from "#lib/refusal.ts";

/** Stars a project; the count is exact, because it grows only if a row was inserted. */
export async function addStar(tx: Tx, projectId: number, userId: number) {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto("stars")
    .values({ project_id: projectId, user_id: userId })
    .onConflict((clash) => clash.doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows === 0n) throw unchanged();
  await addToCount(tx, projectId, 1);
}

export async function removeStar(tx: Tx, projectId: number, userId: number) {
  const { numDeletedRows } = await tx
    .deleteFrom("stars")
    .where("project_id", "=", projectId)
    .where("user_id", "=", userId)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw unchanged();
  await addToCount(tx, projectId, -1);
}

const BATCH_STARS = 1000;

/** Removes a batch of a user's stars, lowers the projects' counts, and returns how many. */
export async function removeStarsOf(tx: Tx, userId: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    with removed as (
      delete from stars where user_id = ${userId} and project_id = any(array(
        select project_id from stars where user_id = ${userId} limit ${sql.lit(BATCH_STARS)}))
      returning project_id)
    update projects set star_count = star_count - 1 where id in (select project_id from removed)`.execute(tx);
  return Number(numAffectedRows);
}

const addToCount = (tx: Tx, projectId: number, number: 1 | -1) =>
  tx
    .updateTable("projects")
    .set({ star_count: sql<number>`star_count + ${number}` })
    .where("id", "=", projectId)
    .execute();
