import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { type Problems, throwProblems } from "#lib/problems.ts";
import { badRequest } from "#lib/refusal.ts";
import { checkVisibility } from "#domains/foundation/namespaces/placement.ts";
import type { ContainerWriteContext } from "#domains/foundation/namespaces/write-context.ts";
import { lockedProject } from "./actions.ts";
import { ensureOwner, lockTarget, refuseTakenPath, type Target } from "./target.ts";

const now = sql<string>`now()`;

export const setArchived = (tx: Tx, id: number, archived: boolean) =>
  tx
    .updateTable("projects")
    .set({ archived, updated_at: now })
    .where("id", "=", id)
    .where("archived", "<>", archived)
    .execute();

/** Marks a project for deletion and returns the time. */
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

/** Returns when a project was marked for deletion; refuses one that is not marked. */
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

/** A batch of projects whose restore period is over. */
export const overdueProjects = (tx: Tx, days: number, limit: number) =>
  tx
    .selectFrom("projects")
    .select(["id", sql<string>`marked_for_deletion_at`.as("marked_at")])
    .where("marked_for_deletion_at", "<", sql<string>`now() - make_interval(days => ${days})`)
    .orderBy("marked_for_deletion_at")
    .limit(sql.lit(limit))
    .execute();

/** Moves a project to another namespace; its previous path redirects. */
export async function transferProject(
  tx: Tx,
  id: number,
  target: Target,
  { actor, settings }: Omit<ContainerWriteContext, "blobs">,
) {
  const row = await lockedProject(tx, id);
  const namespace = await lockTarget(tx, actor, target);
  if (namespace.id === row.namespace_id) throw badRequest("Project is already in this namespace.");
  const problems: Problems = {};
  // A visibility that the instance now restricts may stay, unless it exceeds the namespace's.
  if (row.visibility > namespace.visibility) checkVisibility(problems, row.visibility, namespace, { actor, settings });
  throwProblems(problems);
  await refuseTakenPath(tx, namespace.id, row.path);
  await tx.updateTable("projects").set({ namespace_id: namespace.id, updated_at: now }).where("id", "=", id).execute();
  await ensureOwner(tx, id, namespace);
}
