import type { Resources } from "#http/app.ts";
import type { Domain } from "#domains/foundation/domain.ts";
import { planningConstraints } from "./constraints.ts";
import { planningDeletions } from "./deletions.ts";
import { epics } from "./epics/routes.ts";
import { issues } from "./issues/routes.ts";

const resources: Resources = { epics, issues };

export const planning: Domain = {
  resources,
  constraints: planningConstraints,
  deletions: planningDeletions,
};
