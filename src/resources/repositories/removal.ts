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

/** Removes projects, and once that is committed their repositories: the one way to remove a project. */
export async function deleteProjects(tx: Tx, jobs: Jobs, condition: RawBuilder<unknown>) {
  const { rows } = await sql<{ id: number; repository_storage: string }>`
    delete from projects where ${condition} returning id, repository_storage`.execute(tx);
  for (const [storage, gone] of Map.groupBy(rows, (row) => row.repository_storage)) {
    await jobs.add(tx, repositoryRemoval, { storage, project_ids: gone.map(({ id }) => id) });
  }
}
