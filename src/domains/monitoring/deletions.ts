import { reassignOfUser, removeOfContainers, removeOfUser } from "#domains/foundation/deletions/batches.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";
import { idsIn, removeWhere } from "#domains/planning/items/removals.ts";

const alertIds = idsIn("alerts", "project_id");

export const monitoringDeletions: Deletions = {
  columns: {
    "error_tracking_settings.project_id": "cascade",
    "error_tracking_client_keys.project_id": "removed first",
    "alert_integrations.project_id": "cascade",
    "alert_counters.project_id": "cascade",
    "alerts.project_id": "removed first",
    "alerts.integration_id": "kept",
    "alert_assignees.user_id": "removed first",
    "alert_changes.user_id": "moved to the ghost user",
    "alert_changes.assignee_id": "moved to the ghost user",
  },
  ofUser: [
    removeOfUser("alert_assignees", "user_id"),
    reassignOfUser("alert_changes", "user_id"),
    reassignOfUser("alert_changes", "assignee_id"),
  ],
  ofProjects: [
    // Nothing limits how many keys or alerts a project has. What belongs to alerts goes before them.
    removeOfContainers("error_tracking_client_keys", "project_id"),
    removeWhere("alert_changes", "alert_id", alertIds),
    removeWhere("alert_metric_images", "alert_id", alertIds),
    removeWhere("alert_assignees", "alert_id", alertIds),
    removeOfContainers("alerts", "project_id"),
  ],
};
