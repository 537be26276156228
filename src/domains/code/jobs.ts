import type { AnyJob } from "#jobs/define.ts";
import { removeMergedBranches } from "./branches/jobs.ts";

export const codeJobs: readonly AnyJob[] = [removeMergedBranches];
