import { removeBatch, reassignBatch } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";
import { removalsOfItems } from "#domains/planning/items/removals.ts";
import { sql } from "kysely";
import { MERGE_REQUEST } from "#domains/review/merge-requests/kind.ts";

const PEOPLE = ["merge_request_assignees", "merge_request_reviewers"] as const;
const AUTHORED = ["author_id", "closed_by_id"] as const;

export const reviewDeletions: Deletions = {
  columns: {
    "merge_request_counters.project_id": "cascade",
    "merge_requests.project_id": "removed first",
    "merge_requests.author_id": "moved to the ghost user",
    "merge_requests.closed_by_id": "moved to the ghost user",
    "merge_request_assignees.user_id": "removed first",
    "merge_request_reviewers.user_id": "removed first",
    // A job takes a deleted milestone from its merge requests.
    "merge_requests.milestone_id": "kept",
  },
  ofUser: [
    ...PEOPLE.map(
      (table): NonNullable<Deletions["ofUser"]>[number] =>
        (tx, { id }) =>
          removeBatch(tx, table, sql`user_id = ${id}`),
    ),
    ...AUTHORED.map(
      (column): NonNullable<Deletions["ofUser"]>[number] =>
        (tx, { id, newOwnerId }) =>
          reassignBatch(tx, "merge_requests", column, id, newOwnerId),
    ),
  ],
  ofProjects: removalsOfItems(MERGE_REQUEST),
};
