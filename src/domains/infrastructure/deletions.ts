import { sql } from "kysely";
import { reassignBatch, removeBatch } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";

export const infrastructureDeletions: Deletions = {
  columns: {
    "clusters.project_id": "removed first",
    "clusters.management_project_id": "set null",
    "clusters.user_id": "moved to the ghost user",
  },
  ofUser: [(tx, { id, newOwnerId }) => reassignBatch(tx, "clusters", "user_id", id, newOwnerId)],
  // Nothing limits how many clusters a project has.
  ofProjects: [(tx, ids) => removeBatch(tx, "clusters", sql`project_id = any(${ids}::bigint[])`)],
};
