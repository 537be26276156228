import { type InsertObject, type RawBuilder, sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { projectRepository, snippetRepository } from "#git/storages/storage.ts";
import type { Jobs } from "#jobs/add.ts";
import { repositoryCreation } from "./maintenance.ts";

/** The first commit of a repository, as `git fast-import` reads it, and the README in it. */
interface FirstCommit {
  readonly beginning: string;
  readonly readme: string;
}

const pushedNow = { pushed_at: sql`now()` as RawBuilder<string> };

/** Adds the row of a new project's repository; a job or its first use creates it on its storage. */
export async function addProjectRepository(
  tx: Tx,
  jobs: Jobs,
  projectId: number,
  storage: string,
  first?: FirstCommit,
) {
  const disk_path = projectRepository(projectId);
  await addRepositoryRow(tx, jobs, {
    project_id: projectId,
    storage,
    disk_path,
    ...(first && { ...first, ...pushedNow }),
  });
}

/** The first commit of a snippet, as `git fast-import` reads it, and the files in it. */
interface FirstFiles {
  readonly beginning: string;
  readonly file_names: string[];
}

/** The same for a new snippet, which has files from the beginning. */
export async function addSnippetRepository(tx: Tx, jobs: Jobs, snippetId: number, storage: string, first: FirstFiles) {
  const disk_path = snippetRepository(snippetId);
  await addRepositoryRow(tx, jobs, { snippet_id: snippetId, storage, disk_path, ...first, ...pushedNow });
}

/** The repository of the wiki of a project or group, unless there is one; returns its id. */
export async function addWikiRepository(
  tx: Tx,
  jobs: Jobs,
  row: { readonly wiki_project_id: number } | { readonly wiki_group_id: number },
  storage: string,
  disk_path: string,
): Promise<number> {
  const [[column, id] = ["", 0]] = Object.entries(row);
  const { rows } = await sql<{ id: number; added: boolean }>`
    insert into repositories (${sql.ref(column)}, storage, disk_path) values (${id}, ${storage}, ${disk_path})
    on conflict (${sql.ref(column)}) do update set disk_path = repositories.disk_path
    returning id, xmax = 0 as added`.execute(tx);
  const repository_id = rows[0]?.id ?? 0;
  if (rows[0]?.added) await jobs.add(tx, repositoryCreation, { repository_id });
  return repository_id;
}

async function addRepositoryRow(tx: Tx, jobs: Jobs, row: InsertObject<Database, "repositories">) {
  const { id } = await tx.insertInto("repositories").values(row).returning("id").executeTakeFirstOrThrow();
  await jobs.add(tx, repositoryCreation, { repository_id: id });
}
