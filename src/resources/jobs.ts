import type { AnyJob } from "#jobs/define.ts";
import { moveGroup, removeGroup, removeOverdueGroups } from "./groups/jobs.ts";
import { removeEndedMemberships, removeMembershipsBelow } from "./members/jobs.ts";
import { keepPartitions } from "./partitions/jobs.ts";
import { removeMarkedProject, removeOverdueProjects } from "./projects/jobs.ts";

/** Every job that a worker knows. */
export const jobs: readonly AnyJob[] = [
  keepPartitions,
  removeEndedMemberships,
  removeMembershipsBelow,
  removeGroup,
  removeOverdueGroups,
  moveGroup,
  removeMarkedProject,
  removeOverdueProjects,
];
