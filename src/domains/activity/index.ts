import type { Domain } from "#domains/foundation/domain.ts";
import { countContributions } from "./calendar/jobs.ts";
import { calendar } from "./calendar/routes.ts";
import { activityDeletions } from "./deletions.ts";
import { events } from "./events/routes.ts";
import { activitySeeds } from "./seed.ts";

export const activity: Domain = {
  resources: { events, calendar },
  jobs: [countContributions],
  deletions: activityDeletions,
  seeds: activitySeeds,
};
