import { removeOfContainers } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";

export const monitoringDeletions: Deletions = {
  columns: {
    "error_tracking_settings.project_id": "cascade",
    "error_tracking_client_keys.project_id": "removed first",
  },
  // Nothing limits how many keys a project has.
  ofProjects: [removeOfContainers("error_tracking_client_keys", "project_id")],
};
