import { sql } from "kysely";
import Type from "typebox";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";

/** Every push leaves a pack, and with many of them git looks through all. */
export const MANY_PUSHES = 50;
/** Seconds in which what follows a first push may come, so that it is packed too. */
const FIRST = 60;

const ofProject = {
  queue: "git",
  payload: Type.Object({ project_id: Type.Integer() }, { additionalProperties: false }),
  key: ({ project_id }: { readonly project_id: number }) => String(project_id),
} as const;

/** Makes a repository unless its first use did, and has it look at the default branch of its project. */
export const repositoryPlacing = { ...ofProject, name: "repositories.place" };
/** Packs what pushes left. */
export const repositoryMaintenance = { ...ofProject, name: "repositories.maintain" };

/** Notes a push to a project and the README that it left, if it touched that, and has it packed when it is time. */
export async function notePush(tx: Tx, jobs: Jobs, projectId: number, sizeBytes?: number, readme?: string | null) {
  const { unpacked_pushes, first } = await tx
    .insertInto("repositories")
    .values({
      ...{ project_id: projectId, pushed_at: sql<string>`now()`, unpacked_pushes: 1, readme: readme ?? null },
      ...(sizeBytes !== undefined && { size_bytes: sizeBytes }),
    })
    .onConflict((on) =>
      on.column("project_id").doUpdateSet({
        pushed_at: sql<string>`now()`,
        ...(sizeBytes !== undefined && { size_bytes: sizeBytes }),
        unpacked_pushes: sql<number>`repositories.unpacked_pushes + 1`,
        // With more in it than its beginning, a repository that is lost must not come back as that.
        beginning: null,
        ...(readme !== undefined && { readme }),
      }),
    )
    .returning([
      "unpacked_pushes",
      // As it was before this statement.
      sql<boolean>`not exists (
        select from repositories r where r.project_id = ${projectId} and r.pushed_at is not null)`.as("first"),
    ])
    .executeTakeFirstOrThrow();
  if (!first && unpacked_pushes % MANY_PUSHES !== 0) return;
  // A first push may be a whole history; the job looks how large it is.
  const startAfter = first ? FIRST : 0;
  await jobs.add(tx, repositoryMaintenance, { project_id: projectId }, { startAfter });
}
