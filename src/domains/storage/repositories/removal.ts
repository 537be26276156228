import { type RawBuilder, sql } from "kysely";
import Type from "typebox";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";

export const repositoryRemoval = {
  name: "repositories.remove",
  queue: "git",
  payload: Type.Object(
    { storage: Type.String(), project_ids: Type.Array(Type.Integer()) },
    { additionalProperties: false },
  ),
} as const;

/** Deletes projects and queues the removal of their repositories: the only way to delete a project. */
export async function deleteProjects(tx: Tx, jobs: Jobs, condition: RawBuilder<unknown>) {
  const { rows } = await sql<{ project_id: number; storage: string }>`
    with gone as (delete from projects where ${condition} returning id)
    select r.project_id, r.storage from repositories r join gone on gone.id = r.project_id`.execute(tx);
  for (const [storage, repositories] of Map.groupBy(rows, (row) => row.storage)) {
    await jobs.add(tx, repositoryRemoval, { storage, project_ids: repositories.map((row) => row.project_id) });
  }
}
