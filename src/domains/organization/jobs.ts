import type { AnyJob } from "#jobs/define.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";
import { moveGroup, removeGroup, removeOverdueGroups } from "./groups/jobs.ts";
import { removeEndedMemberships, removeMembershipsBelow } from "./members/jobs.ts";
import { removeMarkedProject, removeOverdueProjects } from "./projects/jobs.ts";
import { recheckDomains } from "./verified-domains/jobs.ts";

export const organizationJobs = (deletions: Deletions): readonly AnyJob[] => [
  removeEndedMemberships,
  removeMembershipsBelow,
  removeGroup(deletions),
  removeOverdueGroups,
  moveGroup,
  removeMarkedProject(deletions),
  removeOverdueProjects,
  recheckDomains,
];
