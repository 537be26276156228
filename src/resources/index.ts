import type { Resources } from "#http/app.ts";
import { accounts } from "./accounts/routes.ts";
import { archives } from "./archives/routes.ts";
import { auditEvents } from "./audit-events/routes.ts";
import { branches } from "./branches/routes.ts";
import { branchWrites } from "./branches/write-routes.ts";
import { commits } from "./commits/routes.ts";
import { commitWrites } from "./commits/write-routes.ts";
import { comparisons } from "./comparisons/routes.ts";
import { customAttributes } from "./custom-attributes/routes.ts";
import { allDeployKeys, deployKeysOfProjects } from "./deploy-keys/routes.ts";
import { enterpriseUsers } from "./enterprise-users/routes.ts";
import { follows } from "./follows/routes.ts";
import { groups } from "./groups/routes.ts";
import { health } from "./health/routes.ts";
import { impersonationTokens } from "./impersonation-tokens/routes.ts";
import { jobMetrics } from "./job-metrics/routes.ts";
import { keys } from "./keys/routes.ts";
import { groupMembers, projectMembers } from "./members/routes.ts";
import { namespaces } from "./namespaces/routes.ts";
import { projects } from "./projects/routes.ts";
import { referenceOf } from "./reference/routes.ts";
import { repositories } from "./repositories/routes.ts";
import { repositoryFiles } from "./repository-files/routes.ts";
import { fileWrites } from "./repository-files/write-routes.ts";
import { secondFactors } from "./second-factor/routes.ts";
import { sessions } from "./sessions/routes.ts";
import { groupServiceAccounts, serviceAccounts } from "./service-accounts/routes.ts";
import { groupServiceAccountTokens } from "./service-accounts/token-routes.ts";
import { settings } from "./settings/routes.ts";
import { tags } from "./tags/routes.ts";
import { tagWrites } from "./tags/write-routes.ts";
import { personalAccessTokens } from "./tokens/routes.ts";
import { trees } from "./trees/routes.ts";
import { userEmails } from "./user-emails/routes.ts";
import { userStatuses } from "./user-statuses/routes.ts";
import { users } from "./users/routes.ts";
import { verifiedDomains } from "./verified-domains/routes.ts";
import { versions } from "./version/routes.ts";

/** Every operation that Fairlead serves, by resource; its name in logs, metrics and documents is `resource.operation`. */
export const resources: Resources = {
  users,
  accounts,
  userEmails,
  userStatuses,
  follows,
  customAttributes,
  keys,
  allDeployKeys,
  deployKeysOfProjects,
  personalAccessTokens,
  impersonationTokens,
  serviceAccounts,
  groupServiceAccounts,
  groupServiceAccountTokens,
  sessions,
  secondFactors,
  settings,
  auditEvents,
  namespaces,
  groups,
  verifiedDomains,
  enterpriseUsers,
  groupMembers,
  projectMembers,
  projects,
  repositories,
  trees,
  repositoryFiles: { ...repositoryFiles, ...fileWrites },
  branches: { ...branches, ...branchWrites },
  tags: { ...tags, ...tagWrites },
  commits: { ...commits, ...commitWrites },
  comparisons,
  archives,
  versions,
  jobMetrics,
  health,
  reference: referenceOf(() => resources),
};
