import type { Domain } from "#domains/foundation/domain.ts";
import { events } from "./events/routes.ts";
import { activitySeeds } from "./seed.ts";

export const activity: Domain = { resources: { events }, seeds: activitySeeds };
