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

/** Deletes projects with their snippets, and queues the removal of their repositories: the only way to delete a project. */
export async function deleteProjects(tx: Tx, jobs: Jobs, condition: RawBuilder<unknown>) {
  const ids = await deleteOwners(tx, jobs, "projects", condition, async (projectIds) => {
    await deleteSnippets(tx, jobs, sql`project_id = any(${projectIds}::bigint[])`);
  });
  return ids.length;
}

/** Deletes snippets and queues the removal of their repositories; returns how many there were. */
export async function deleteSnippets(tx: Tx, jobs: Jobs, condition: RawBuilder<unknown>): Promise<number> {
  return (await deleteOwners(tx, jobs, "snippets", condition)).length;
}

const COLUMNS = { projects: "project_id", snippets: "snippet_id" } as const;

async function deleteOwners(
  tx: Tx,
  jobs: Jobs,
  table: keyof typeof COLUMNS,
  condition: RawBuilder<unknown>,
  beforehand?: (ids: readonly number[]) => Promise<void>,
): Promise<number[]> {
  const owners = sql.table(table);
  // Locked first: a move that ends meanwhile changes where a repository is.
  const { rows } = await sql<{ id: number }>`
    select id from ${owners} where ${condition} order by id for update`.execute(tx);
  const ids = rows.map(({ id }) => id);
  await beforehand?.(ids);
  const { rows: repositories } = await sql<{ storage: string; disk_path: string }>`
    select storage, disk_path from repositories
    where ${sql.ref(COLUMNS[table])} = any(${ids}::bigint[])`.execute(tx);
  await sql`delete from ${owners} where id = any(${ids}::bigint[])`.execute(tx);
  for (const [storage, rowsThere] of Map.groupBy(repositories, (row) => row.storage)) {
    await jobs.add(tx, repositoryRemoval, { storage, paths: rowsThere.map((row) => row.disk_path) });
  }
  return ids;
}
