import { removeOfContainers } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";

export const monitoringDeletions: Deletions = {
  columns: {
    "error_tracking_settings.project_id": "cascade",
    "error_tracking_client_keys.project_id": "removed first",
    "alert_integrations.project_id": "cascade",
    "alert_counters.project_id": "cascade",
    "alerts.project_id": "removed first",
  },
  // Nothing limits how many keys or alerts a project has.
  ofProjects: [
    removeOfContainers("error_tracking_client_keys", "project_id"),
    removeOfContainers("alerts", "project_id"),
  ],
};
