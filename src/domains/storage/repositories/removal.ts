import { type RawBuilder, sql } from "kysely";
import Type from "typebox";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";

/** Removes repositories from a storage; no row of `repositories` has these paths any more, nor ever will. */
export const repositoryRemoval = {
  name: "repositories.remove_paths",
  queue: "git",
  payload: Type.Object({ storage: Type.String(), paths: Type.Array(Type.String()) }, { additionalProperties: false }),
} as const;

/** Deletes projects and queues the removal of their repositories: the only way to delete a project. */
export async function deleteProjects(tx: Tx, jobs: Jobs, condition: RawBuilder<unknown>) {
  const { rows } = await sql<{ storage: string; disk_path: string }>`
    with gone as (delete from projects where ${condition} returning id)
    select r.storage, r.disk_path from repositories r join gone on gone.id = r.project_id`.execute(tx);
  for (const [storage, repositories] of Map.groupBy(rows, (row) => row.storage)) {
    await jobs.add(tx, repositoryRemoval, { storage, paths: repositories.map((row) => row.disk_path) });
  }
}
