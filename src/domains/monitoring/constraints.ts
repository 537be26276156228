import type { Constraints } from "#db/errors.ts";
import { badFields, missing } from "#lib/refusal.ts";

export const monitoringConstraints: Constraints = {
  error_tracking_settings_active_needs_backend: () =>
    badFields({ integrated: ["must be true to activate error tracking, because there is no other backend"] }),
  // Another request deleted the project.
  error_tracking_settings_project_id_fkey: () => missing("Project"),
  error_tracking_client_keys_project_id_fkey: () => missing("Project"),
};
