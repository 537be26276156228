import { removeOfContainers, removeOfUser } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";

export const activityDeletions: Deletions = {
  columns: { "contributions.author_id": "removed first", "contributions.project_id": "removed first" },
  ofUser: [removeOfUser("contributions", "author_id")],
  ofProjects: [removeOfContainers("contributions", "project_id")],
};
