import { type RawBuilder, sql } from "kysely";
import { reassignOfUser } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";
import { deleteSnippets } from "#domains/storage/repositories/removal.ts";
import { moveDeployKeysToGhost } from "./deploy-keys/user-deletion.ts";

export const codeDeletions: Deletions = {
  columns: {
    "deploy_keys_projects.project_id": "cascade",
    "snippets.project_id": "removed first",
    // The personal ones are removed.
    "snippets.author_id": "moved to the ghost user",
  },
  ofUser: [
    (tx, { id }) => moveDeployKeysToGhost(tx, id),
    (tx, { id }, { jobs }) => deleteSnippets(tx, jobs, batchOf(sql`author_id = ${id} and project_id is null`)),
    reassignOfUser("snippets", "author_id"),
  ],
  ofProjects: [(tx, ids, { jobs }) => deleteSnippets(tx, jobs, batchOf(sql`project_id = any(${ids}::bigint[])`))],
};

/** Each has a repository, whose path the job that removes it must know. */
const BATCH_SNIPPETS = 500;
const batchOf = (condition: RawBuilder<unknown>) =>
  sql`id = any(array(select id from snippets where ${condition} limit ${sql.lit(BATCH_SNIPPETS)}))`;
