import type { Deletions } from "#domains/foundation/deletions/deletions.ts";
import { moveDeployKeysToGhost } from "./deploy-keys/user-deletion.ts";

export const codeDeletions: Deletions = {
  columns: {
    "deploy_keys_projects.project_id": "cascade",
  },
  ofUser: [(tx, { id }) => moveDeployKeysToGhost(tx, id)],
};
