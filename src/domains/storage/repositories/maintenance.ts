import { sql } from "kysely";
import Type from "typebox";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";

/** Each push adds a pack, and git searches all of them. */
export const PUSHES_PER_PACKING = 50;
/** Waits for the pushes that usually follow a first one, to pack them together. */
const FIRST_PACKING_DELAY_SECONDS = 60;

const ofProject = {
  queue: "git",
  payload: Type.Object({ project_id: Type.Integer() }, { additionalProperties: false }),
  key: ({ project_id }: { readonly project_id: number }) => String(project_id),
} as const;

/** Creates a repository unless its first use did, and points its HEAD to the default branch of its project. */
export const repositoryCreation = { ...ofProject, name: "repositories.place" };
/** Packs the objects of recent pushes. */
export const repositoryMaintenance = { ...ofProject, name: "repositories.maintain" };

/**
 * Counts a push, stores the README if the push changed it, and queues packing when it is due. Returns false if the
 * repository was deleted meanwhile.
 */
export async function notePush(
  tx: Tx,
  jobs: Jobs,
  { repository_id, project_id }: { readonly repository_id: number; readonly project_id: number },
  sizeBytes?: number,
  readme?: string | null,
): Promise<boolean> {
  const row = await tx
    .updateTable("repositories")
    .set({
      pushed_at: sql<string>`now()`,
      unpacked_pushes: sql<number>`unpacked_pushes + 1`,
      // Once it holds more, a lost repository must not be recreated from its first commit.
      beginning: null,
      ...(sizeBytes !== undefined && { size_bytes: sizeBytes }),
      ...(readme !== undefined && { readme }),
    })
    .where("id", "=", repository_id)
    .returning([
      "unpacked_pushes",
      // Sees the row as it was before this statement.
      sql<boolean>`not exists (
        select from repositories r where r.id = ${repository_id} and r.pushed_at is not null)`.as("first"),
    ])
    .executeTakeFirst();
  if (!row) return false;
  if (row.first || row.unpacked_pushes % PUSHES_PER_PACKING === 0) {
    // A first push may be a whole history; the job checks its size.
    const startAfter = row.first ? FIRST_PACKING_DELAY_SECONDS : 0;
    await jobs.add(tx, repositoryMaintenance, { project_id }, { startAfter });
  }
  return true;
}
