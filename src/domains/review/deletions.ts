import { reassignOfUser, removeOfUser } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";
import { removalsOfItems } from "#domains/planning/items/removals.ts";
import { MERGE_REQUEST } from "#domains/review/merge-requests/kind.ts";

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
    removeOfUser("merge_request_assignees", "user_id"),
    removeOfUser("merge_request_reviewers", "user_id"),
    reassignOfUser("merge_requests", "author_id"),
    reassignOfUser("merge_requests", "closed_by_id"),
  ],
  ofProjects: removalsOfItems(MERGE_REQUEST),
};
