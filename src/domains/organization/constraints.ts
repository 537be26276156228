import type { Constraints } from "#db/errors.ts";
import { badFields, missing } from "#lib/refusal.ts";

export const organizationConstraints: Constraints = {
  verified_domains_once_a_group: () => badFields({ domain: ["has already been taken"] }),
  verified_domains_taken: () => badFields({ domain: ["has already been taken"] }),
  // Another request deleted the referenced row.
  shares_group_id_fkey: () => missing("Group"),
  shares_with_group_id_fkey: () => missing("Group"),
  shares_project_id_fkey: () => missing("Project"),
  members_user_id_fkey: () => missing("User"),
  members_group_id_fkey: () => missing("Group"),
  members_project_id_fkey: () => missing("Project"),
  stars_project_id_fkey: () => missing("Project"),
  stars_user_id_fkey: () => missing("User"),
  users_provisioned_by_group_id_fkey: () => missing("Group"),
  projects_namespace_id_fkey: () => missing("Namespace"),
};
