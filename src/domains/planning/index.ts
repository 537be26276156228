import type { Domain } from "#domains/foundation/domain.ts";
import { planningConstraints } from "./constraints.ts";
import { planningDeletions } from "./deletions.ts";

export const planning: Domain = {
  constraints: planningConstraints,
  deletions: planningDeletions,
};
