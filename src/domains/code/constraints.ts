import type { Constraints } from "#db/errors.ts";
import { missing } from "#lib/refusal.ts";

export const codeConstraints: Constraints = {
  // Another request deleted the project or the key.
  deploy_keys_projects_project_id_fkey: () => missing("Project"),
  deploy_keys_projects_key_id_fkey: () => missing("Deploy key"),
};
