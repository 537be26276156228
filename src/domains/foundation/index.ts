import { foundationConstraints } from "./constraints.ts";
import { foundationDeletions } from "./deletions.ts";
import type { Domain } from "./domain.ts";
import { foundationJobs } from "./jobs.ts";

export const foundation: Domain = {
  jobs: foundationJobs,
  constraints: foundationConstraints,
  deletions: foundationDeletions,
};
