import type { Domain } from "#domains/foundation/domain.ts";
import { storageDeletions } from "./deletions.ts";
import { storageJobs } from "./jobs.ts";
import { storages } from "./storages/routes.ts";

export const storage: Domain = {
  resources: { storages },
  jobs: storageJobs,
  deletions: storageDeletions,
};
