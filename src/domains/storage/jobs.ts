import type { AnyJob } from "#jobs/define.ts";
import { cleanUpMove, evacuateStorage, moveRepository } from "./moves/jobs.ts";
import {
  createProjectRepository,
  createRepository,
  maintainProjectRepository,
  maintainRepository,
  removeProjectRepositories,
  removeRepositories,
} from "./repositories/jobs.ts";

export const storageJobs: readonly AnyJob[] = [
  createRepository,
  maintainRepository,
  removeRepositories,
  createProjectRepository,
  maintainProjectRepository,
  removeProjectRepositories,
  moveRepository,
  cleanUpMove,
  evacuateStorage,
];
