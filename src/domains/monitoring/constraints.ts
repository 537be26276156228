import type { Constraints } from "#db/errors.ts";
import { badFields, missing, unauthenticated } from "#lib/refusal.ts";
import { cannotBeAssigned } from "./alerts/assignees.ts";

export const monitoringConstraints: Constraints = {
  error_tracking_settings_active_needs_backend: () =>
    badFields({ integrated: ["must be true to activate error tracking, because there is no other backend"] }),
  // Another request deleted the project.
  error_tracking_settings_project_id_fkey: () => missing("Project"),
  error_tracking_client_keys_project_id_fkey: () => missing("Project"),
  alert_integrations_project_id_fkey: () => missing("Project"),
  // The key ended with its project.
  alerts_project_id_fkey: () => unauthenticated(),
  alert_counters_project_id_fkey: () => unauthenticated(),
  alerts_unresolved_fingerprint: () =>
    badFields({ status: ["must stay resolved while another unresolved alert has the same fingerprint"] }),
  // Another request deleted the user.
  alert_assignees_user_id_fkey: cannotBeAssigned,
};
