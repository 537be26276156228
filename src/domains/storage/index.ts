import type { Domain } from "#domains/foundation/domain.ts";
import { storageDeletions } from "./deletions.ts";
import { storageJobs } from "./jobs.ts";

export const storage: Domain = {
  jobs: storageJobs,
  deletions: storageDeletions,
};
