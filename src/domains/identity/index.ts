import type { Resources } from "#http/app.ts";
import { accounts } from "./accounts/routes.ts";
import { currentUser } from "./current-user/routes.ts";
import { customAttributes } from "./custom-attributes/routes.ts";
import { userEmails } from "./emails/routes.ts";
import { follows } from "./follows/routes.ts";
import { impersonationTokens } from "./impersonation-tokens/routes.ts";
import { invitations } from "./invitations/routes.ts";
import { keys } from "./keys/routes.ts";
import { moderation } from "./moderation/routes.ts";
import { secondFactors, secondFactorsOfUsers } from "./second-factor/routes.ts";
import { serviceAccounts } from "./service-accounts/routes.ts";
import { sessions } from "./sessions/routes.ts";
import { userStatuses } from "./statuses/routes.ts";
import { personalAccessTokens } from "./tokens/routes.ts";
import { users } from "./users/routes.ts";

export const identity: Resources = {
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
