import type { Deletions } from "#domains/foundation/deletions/deletions.ts";

export const storageDeletions: Deletions = {
  columns: {
    "repositories.project_id": "cascade",
    "repositories.snippet_id": "cascade",
    "repositories.wiki_project_id": "cascade",
    "repositories.wiki_group_id": "cascade",
    "pushes.project_id": "cascade",
    "pushes.repository_id": "cascade",
    "pushes.user_id": "kept",
    "pushes.key_id": "kept",
    "repository_storage_moves.project_id": "cascade",
    "repository_storage_moves.snippet_id": "cascade",
    "repository_storage_moves.group_id": "cascade",
    "repository_storage_moves.repository_id": "cascade",
  },
};
