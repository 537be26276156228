import { type RawBuilder, sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { projectRepository } from "#git/storages/storage.ts";

/** The first commit of a repository, as `git fast-import` reads it, and the README in it. */
interface FirstCommit {
  readonly beginning: string;
  readonly readme: string;
}

/** Adds the row of a new project's repository; a job or its first use creates it on its storage. */
export async function addProjectRepository(tx: Tx, projectId: number, storage: string, first?: FirstCommit) {
  const pushed_at: RawBuilder<string> = sql`now()`;
  await tx
    .insertInto("repositories")
    .values({
      project_id: projectId,
      storage,
      disk_path: projectRepository(projectId),
      ...(first && { ...first, pushed_at }),
    })
    .execute();
}
