import type { AnyJob } from "#jobs/define.ts";
import { codeJobs } from "./code/jobs.ts";
import { deletions } from "./deletions.ts";
import { foundationJobs } from "./foundation/jobs.ts";
import { identityJobs } from "./identity/jobs.ts";
import { organizationJobs } from "./organization/jobs.ts";
import { storageJobs } from "./storage/jobs.ts";

/** Every job that a worker knows. */
export const jobs: readonly AnyJob[] = [
  ...foundationJobs,
  ...identityJobs(deletions),
  ...storageJobs,
  ...organizationJobs(deletions),
  ...codeJobs,
];
