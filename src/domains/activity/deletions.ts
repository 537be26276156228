import { sql } from "kysely";
import { removeBatch } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";

export const activityDeletions: Deletions = {
  columns: { "contributions.author_id": "removed first", "contributions.project_id": "removed first" },
  ofUser: [(tx, { id }) => removeBatch(tx, "contributions", sql`author_id = ${id}`)],
  ofProjects: [(tx, ids) => removeBatch(tx, "contributions", sql`project_id = any(${ids}::bigint[])`)],
};
