import type { Constraints } from "#db/errors.ts";
import { badFields, conflict, missing } from "#lib/refusal.ts";

export const foundationConstraints: Constraints = {
  namespaces_path_taken: () => conflict("Username has already been taken"),
  routes_path_taken: () => badFields({ path: ["has already been taken"] }),
  namespaces_depth: () => badFields({ parent_id: ["is nested too deeply: there can be 20 levels of groups"] }),
  // Another request deleted the referenced row.
  namespaces_parent_id_fkey: () => missing("Group"),
};
