import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import { type Problems, throwProblems } from "#lib/problems.ts";
import { badRequest } from "#lib/refusal.ts";
import { checkVisibility } from "#resources/namespaces/placement.ts";
import type { Writing } from "#resources/namespaces/writing.ts";
import { deleteProjects } from "#resources/repositories/removal.ts";
import { lockedProject } from "./actions.ts";
import { keepOwner, openPlace, refuseTakenPath, type Target } from "./places.ts";

const now = sql<string>`now()`;

export const setArchived = (tx: Tx, id: number, archived: boolean) =>
  tx
    .updateTable("projects")
    .set({ archived, updated_at: now })
    .where("id", "=", id)
    .where("archived", "<>", archived)
    .execute();

/** Marks a project for deletion and says when that was. */
export async function markForDeletion(tx: Tx, id: number): Promise<string> {
  const row = await tx
    .updateTable("projects")
    .set({ marked_for_deletion_at: now, updated_at: now })
    .where("id", "=", id)
    .where("marked_for_deletion_at", "is", null)
    .returning("marked_for_deletion_at")
    .executeTakeFirst();
  if (!row?.marked_for_deletion_at) throw badRequest("Project has already been marked for deletion");
  return row.marked_for_deletion_at;
}

/** When a project was marked that is to be gone before its time is over. */
export async function markedAt(tx: Tx, id: number): Promise<string> {
  const { marked_for_deletion_at: at } = await lockedProject(tx, id);
  if (at === null) throw badRequest("Project must be marked for deletion first.");
  return at;
}

export async function restoreProject(tx: Tx, id: number) {
  const { numUpdatedRows } = await tx
    .updateTable("projects")
    .set({ marked_for_deletion_at: null, updated_at: now })
    .where("id", "=", id)
    .where("marked_for_deletion_at", "is not", null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw badRequest("Project has not been marked for deletion");
}

/** Removes a project that is still marked as it was then, with all that belongs to it: a restore finds all or nothing. */
export const removeProject = (tx: Tx, jobs: Jobs, id: number, markedAt: string) =>
  deleteProjects(tx, jobs, sql`id = ${id} and marked_for_deletion_at = ${markedAt}`);

/** Projects whose time to be restored is over, a batch of them. */
export const overdueProjects = (tx: Tx, days: number, most: number) =>
  tx
    .selectFrom("projects")
    .select(["id", sql<string>`marked_for_deletion_at`.as("marked_at")])
    .where("marked_for_deletion_at", "<", sql<string>`now() - make_interval(days => ${days})`)
    .orderBy("marked_for_deletion_at")
    .limit(sql.lit(most))
    .execute();

/** Moves a project to another namespace; its address of before leads on. */
export async function transferProject(tx: Tx, id: number, target: Target, { actor, settings }: Omit<Writing, "blobs">) {
  const row = await lockedProject(tx, id);
  const place = await openPlace(tx, actor, target);
  if (place.id === row.namespace_id) throw badRequest("Project is already in this namespace.");
  const problems: Problems = {};
  // What it is already may stay even where nobody could choose it now.
  if (row.visibility > place.visibility) checkVisibility(problems, row.visibility, place, { actor, settings });
  throwProblems(problems);
  await refuseTakenPath(tx, place.id, row.path);
  await tx.updateTable("projects").set({ namespace_id: place.id, updated_at: now }).where("id", "=", id).execute();
  await keepOwner(tx, id, place);
}
