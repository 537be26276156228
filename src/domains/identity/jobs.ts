import type { AnyJob } from "#jobs/define.ts";
import type { Deletions } from "#domains/foundation/deletions/deletions.ts";
import { removeEndedSessions } from "./sessions/jobs.ts";
import { removeStoredResponses } from "./tokens/jobs.ts";
import { removeUser } from "./users/jobs.ts";

export const identityJobs = (deletions: Deletions): readonly AnyJob[] => [
  removeEndedSessions,
  removeUser(deletions),
  removeStoredResponses,
];
