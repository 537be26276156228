import { sql } from "kysely";
import Type from "typebox";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";

/** Each push adds a pack, and git searches all of them. */
export const PUSHES_PER_PACKING = 50;
/** Waits for the pushes that usually follow a first one, to pack them together. */
const FIRST_PACKING_DELAY_SECONDS = 60;

const ofRepository = {
  queue: "git",
  payload: Type.Object({ repository_id: Type.Integer() }, { additionalProperties: false }),
  key: ({ repository_id }: { readonly repository_id: number }) => String(repository_id),
} as const;

/** Creates a repository unless its first use did, and points its HEAD to its default branch. */
export const repositoryCreation = { ...ofRepository, name: "repositories.create" };
/** Packs the objects of recent pushes. */
export const repositoryMaintenance = { ...ofRepository, name: "repositories.pack" };

/** What is stored about the content of a repository; what a push did not change is left out. */
export interface Content {
  readonly size_bytes?: number | undefined;
  readonly readme?: string | null | undefined;
}

/**
 * Counts a push, stores what it changed of the content, and queues packing when it is due. Returns false if the
 * repository was deleted meanwhile.
 */
export async function notePush(
  tx: Tx,
  jobs: Jobs,
  { repository_id }: { readonly repository_id: number },
  content: Content = {},
): Promise<boolean> {
  const row = await tx
    .updateTable("repositories")
    .set({
      pushed_at: sql<string>`now()`,
      unpacked_pushes: sql<number>`unpacked_pushes + 1`,
      // Once it holds more, a lost repository must not be recreated from its first commit.
      beginning: null,
      ...content,
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
    await jobs.add(tx, repositoryMaintenance, { repository_id }, { startAfter });
  }
  return true;
}
