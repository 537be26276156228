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

/** Deletes projects with their snippets, and queues the removal of all their repositories: the only way to delete one. */
export async function deleteProjects(tx: Tx, jobs: Jobs, condition: RawBuilder<unknown>) {
  await deleteOwners(tx, jobs, "projects", condition, (ids) =>
    deleteSnippets(tx, jobs, sql`project_id = any(${ids}::bigint[])`),
  );
}

/** Deletes snippets and queues the removal of their repositories; returns how many there were. */
export async function deleteSnippets(tx: Tx, jobs: Jobs, condition: RawBuilder<unknown>): Promise<number> {
  return deleteOwners(tx, jobs, "snippets", condition);
}

/** Deletes groups and queues the removal of their wikis; nothing else is left in them. */
export async function deleteGroups(tx: Tx, jobs: Jobs, ids: readonly number[]) {
  await deleteOwners(tx, jobs, "namespaces", sql`id = any(${ids}::bigint[]) and kind = 'group'`);
}

/** The columns of `repositories` that name what is deleted. */
const COLUMNS = {
  projects: ["project_id", "wiki_project_id"],
  snippets: ["snippet_id"],
  namespaces: ["wiki_group_id"],
} as const;

async function deleteOwners(
  tx: Tx,
  jobs: Jobs,
  table: keyof typeof COLUMNS,
  condition: RawBuilder<unknown>,
  beforehand?: (ids: readonly number[]) => Promise<unknown>,
): Promise<number> {
  const owners = sql.table(table);
  // Locked first: a move that ends meanwhile changes where a repository is.
  const { rows } = await sql<{ id: number }>`
    select id from ${owners} where ${condition} order by id for update`.execute(tx);
  const ids = rows.map(({ id }) => id);
  await beforehand?.(ids);
  const isTheirs = COLUMNS[table].map((column) => sql`${sql.ref(column)} = any(${ids}::bigint[])`);
  const { rows: repositories } = await sql<{ storage: string; disk_path: string }>`
    select storage, disk_path from repositories where ${sql.join(isTheirs, sql` or `)}`.execute(tx);
  await sql`delete from ${owners} where id = any(${ids}::bigint[])`.execute(tx);
  for (const [storage, rowsThere] of Map.groupBy(repositories, (row) => row.storage)) {
    await jobs.add(tx, repositoryRemoval, { storage, paths: rowsThere.map((row) => row.disk_path) });
  }
  return ids.length;
}
