import type { Constraints } from "#db/errors.ts";
import { badFields, missing } from "#lib/refusal.ts";

const scopeTaken = () => badFields({ environment_scope: ["cannot add duplicated environment scope"] });

export const infrastructureConstraints: Constraints = {
  clusters_environment_scope_taken: scopeTaken,
  clusters_managed_scope_taken: scopeTaken,
  // Another request deleted the referenced row.
  clusters_project_id_fkey: () => missing("Project"),
  clusters_management_project_id_fkey: () => missing("Project"),
  clusters_user_id_fkey: () => missing("User"),
};
