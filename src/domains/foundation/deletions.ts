import type { Deletions } from "./deletions/deletions.ts";

export const foundationDeletions: Deletions = {
  columns: {
    "namespaces.parent_id": "removed first",
    "routes.namespace_id": "cascade",
    "routes.project_id": "cascade",
    "routes.parent_id": "removed first",
    "mailed_links.user_id": "cascade",
    "events.author_id": "kept",
    "events.project_id": "kept",
    "events.target_id": "kept",
    "events.key_id": "kept",
  },
};
