import type { AnyJob } from "#jobs/define.ts";
import { maintainRepository, createRepository, removeRepositories } from "./repositories/jobs.ts";

export const storageJobs: readonly AnyJob[] = [createRepository, maintainRepository, removeRepositories];
