import type { Resources } from "#http/app.ts";
import type { Domain } from "#domains/foundation/domain.ts";
import { accounts } from "./accounts/routes.ts";
import { identityConstraints } from "./constraints.ts";
import { currentUser } from "./current-user/routes.ts";
import { customAttributes } from "./custom-attributes/routes.ts";
import { identityDeletions } from "./deletions.ts";
import { userEmails } from "./emails/routes.ts";
import { follows } from "./follows/routes.ts";
import { impersonationTokens } from "./impersonation-tokens/routes.ts";
import { invitations } from "./invitations/routes.ts";
import { identityJobs } from "./jobs.ts";
import { keys } from "./keys/routes.ts";
import { moderation } from "./moderation/routes.ts";
import { secondFactors, secondFactorsOfUsers } from "./second-factor/routes.ts";
import { seedKeys, seedSessions, seedUsers } from "./seed.ts";
import { serviceAccounts } from "./service-accounts/routes.ts";
import { sessions } from "./sessions/routes.ts";
import { userStatuses } from "./statuses/routes.ts";
import { personalAccessTokens } from "./tokens/routes.ts";
import { users } from "./users/routes.ts";

const resources: Resources = {
  users: { ...users, ...currentUser, ...moderation, ...secondFactorsOfUsers },
  accounts,
  invitations,
  userEmails,
  userStatuses,
  follows,
  customAttributes,
  keys,
  personalAccessTokens,
  impersonationTokens,
  serviceAccounts,
  sessions,
  secondFactors,
};

export const identity: Domain = {
  resources,
  jobs: identityJobs,
  constraints: identityConstraints,
  deletions: identityDeletions,
  seeds: [seedUsers, seedKeys, seedSessions],
};
