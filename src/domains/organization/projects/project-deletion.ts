import { sql } from "kysely";
import Type, { type Static } from "typebox";
import type { Tx } from "#db/database.ts";
import type { JobKind } from "#jobs/kind.ts";
import { type DeletionContext, removeBatchOfRows } from "#domains/foundation/deletions/deletions.ts";
import { deleteProjects } from "#domains/storage/repositories/removal.ts";

const Payload = Type.Object({ id: Type.Integer(), marked_at: Type.String() }, { additionalProperties: false });

/** The job that deletes a project, unless its mark has changed since the job was queued. */
export const projectRemoval: JobKind<typeof Payload> = {
  name: "projects.remove",
  queue: "bulk",
  payload: Payload,
  key: ({ id }) => String(id),
};

/** Locks a project with this mark; returns false if it was restored, marked anew or deleted. */
export async function lockMarkedProject(tx: Tx, { id, marked_at }: Static<typeof Payload>): Promise<boolean> {
  const project = await tx
    .selectFrom("projects")
    .select("id")
    .where("id", "=", id)
    .where("marked_for_deletion_at", "=", marked_at)
    .forUpdate()
    .executeTakeFirst();
  return project !== undefined;
}

const BATCH_PROJECTS = 500;

/** Deletes a batch of the projects in and below a namespace, or of their rows; returns how many of either. */
export async function removeBatchOfProjects(
  tx: Tx,
  namespaceId: number,
  { jobs, deletions }: DeletionContext,
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select p.id from namespaces g
      join namespaces n on n.traversal_ids >= g.traversal_ids and n.traversal_ids < g.subtree_end
      join projects p on p.namespace_id = n.id
    where g.id = ${namespaceId} limit ${sql.lit(BATCH_PROJECTS)}`.execute(tx);
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return 0;
  const removed = await removeBatchOfRows(tx, ids, deletions.ofProjects, { jobs });
  if (removed > 0) return removed;
  await deleteProjects(tx, jobs, sql`id = any(${ids}::bigint[])`);
  return ids.length;
}
