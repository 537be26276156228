import { reassignOfUser, removeOfContainers } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";

export const infrastructureDeletions: Deletions = {
  columns: {
    "clusters.project_id": "removed first",
    "clusters.management_project_id": "set null",
    "clusters.user_id": "moved to the ghost user",
  },
  ofUser: [reassignOfUser("clusters", "user_id")],
  // Nothing limits how many clusters a project has.
  ofProjects: [removeOfContainers("clusters", "project_id")],
};
