import type { AnyJob } from "#jobs/define.ts";
import { removeMergedBranches } from "./branches/jobs.ts";
import { moveGroup, removeGroup, removeOverdueGroups } from "./groups/jobs.ts";
import { answerResetAsked, removeEndedLinks, sendExpiryNotices, sendMail } from "./mails/jobs.ts";
import { removeEndedMemberships, removeMembershipsBelow } from "./members/jobs.ts";
import { keepPartitions } from "./partitions/jobs.ts";
import { removeMarkedProject, removeOverdueProjects } from "./projects/jobs.ts";
import { maintainRepository, placeRepository, removeRepositories } from "./repositories/jobs.ts";
import { removeEndedSessions } from "./sessions/jobs.ts";
import { forgetAnswers } from "./tokens/jobs.ts";
import { removeUser } from "./users/jobs.ts";
import { recheckDomains } from "./verified-domains/jobs.ts";

/** Every job that a worker knows. */
export const jobs: readonly AnyJob[] = [
  keepPartitions,
  sendMail,
  answerResetAsked,
  sendExpiryNotices,
  removeEndedLinks,
  removeEndedSessions,
  removeEndedMemberships,
  removeMembershipsBelow,
  removeGroup,
  removeOverdueGroups,
  moveGroup,
  removeMarkedProject,
  removeOverdueProjects,
  placeRepository,
  maintainRepository,
  removeRepositories,
  removeMergedBranches,
  removeUser,
  recheckDomains,
  forgetAnswers,
];
