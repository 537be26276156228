import type { Resources } from "#http/app.ts";
import { auditEvents } from "./audit-events/routes.ts";
import { groups } from "./groups/routes.ts";
import { health } from "./health/routes.ts";
import { jobMetrics } from "./job-metrics/routes.ts";
import { groupMembers, projectMembers } from "./members/routes.ts";
import { namespaces } from "./namespaces/routes.ts";
import { projects } from "./projects/routes.ts";
import { referenceOf } from "./reference/routes.ts";
import { settings } from "./settings/routes.ts";
import { personalAccessTokens } from "./tokens/routes.ts";
import { users } from "./users/routes.ts";
import { versions } from "./version/routes.ts";

/** Every operation that Fairlead serves, by resource; its name in logs, metrics and documents is `resource.operation`. */
export const resources: Resources = {
  users,
  personalAccessTokens,
  settings,
  auditEvents,
  namespaces,
  groups,
  groupMembers,
  projectMembers,
  projects,
  versions,
  jobMetrics,
  health,
  reference: referenceOf(() => resources),
};
