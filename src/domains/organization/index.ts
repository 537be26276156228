import type { Resources } from "#http/app.ts";
import type { Domain } from "#domains/foundation/domain.ts";
import { moveEndpoints } from "#domains/storage/moves/endpoints.ts";
import { organizationConstraints } from "./constraints.ts";
import { organizationDeletions } from "./deletions.ts";
import { enterpriseUsers } from "./enterprise-users/routes.ts";
import { anyServiceAccount, groupServiceAccounts } from "./group-service-accounts/routes.ts";
import { groupServiceAccountTokens } from "./group-service-accounts/token-routes.ts";
import { projectGroups } from "./groups/project-routes.ts";
import { groups } from "./groups/routes.ts";
import { organizationJobs } from "./jobs.ts";
import { groupMembers, projectMembers, projectUsers } from "./members/routes.ts";
import { userMemberships } from "./members/user-routes.ts";
import { namespaces } from "./namespaces/routes.ts";
import { projects } from "./projects/routes.ts";
import { PROJECT_MOVES } from "./projects/storage-moves.ts";
import { organizationSeeds } from "./seed.ts";
import { projectShares } from "./shares/routes.ts";
import { projectStars } from "./stars/routes.ts";
import { verifiedDomains } from "./verified-domains/routes.ts";

const resources: Resources = {
  users: userMemberships,
  serviceAccounts: anyServiceAccount,
  groupServiceAccounts,
  groupServiceAccountTokens,
  namespaces,
  groups,
  verifiedDomains,
  enterpriseUsers,
  groupMembers,
  projectMembers,
  projectStorageMoves: moveEndpoints(PROJECT_MOVES),
  projects: { ...projects, ...projectShares, ...projectGroups, ...projectUsers, ...projectStars },
};

export const organization: Domain = {
  resources,
  jobs: organizationJobs,
  constraints: organizationConstraints,
  deletions: organizationDeletions,
  seeds: organizationSeeds,
};
