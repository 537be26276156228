import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/actor.ts";
import type { Db, Tx } from "#db/database.ts";
import { unchanged } from "#lib/refusal.ts";
import { summaryColumns } from "#resources/users/queries.ts";
import { matches, readSearch } from "#resources/users/search.ts";

/** Gives a project a user's star; the count is exact, because only who adds a row adds to it. */
export async function star(tx: Tx, projectId: number, userId: number) {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto("stars")
    .values({ project_id: projectId, user_id: userId })
    .onConflict((clash) => clash.doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows === 0n) throw unchanged();
  await addToCount(tx, projectId, 1);
}

export async function unstar(tx: Tx, projectId: number, userId: number) {
  const { numDeletedRows } = await tx
    .deleteFrom("stars")
    .where("project_id", "=", projectId)
    .where("user_id", "=", userId)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw unchanged();
  await addToCount(tx, projectId, -1);
}

const addToCount = (tx: Tx, projectId: number, number: 1 | -1) =>
  tx
    .updateTable("projects")
    .set({ star_count: sql<number>`star_count + ${number}` })
    .where("id", "=", projectId)
    .execute();

/** Who starred a project, but for those whose profile is not the caller's to see. */
export function starrers(db: Db, projectId: number, actor: Actor | null, search: string | undefined) {
  const starred = db
    .selectFrom("stars as s")
    .innerJoin("users as u", "u.id", "s.user_id")
    .select([...summaryColumns, "s.created_at as starred_since"])
    .where("s.project_id", "=", projectId);
  const open = isAdministrator(actor)
    ? starred
    : starred.where(sql<boolean>`(not u.private_profile or u.id = ${actor?.user.id ?? 0})`);
  return search?.trim() ? open.where(matches(readSearch(search, false), true)) : open;
}
