import type { SeedStep } from "#db/seed.ts";
import { seedDeployKeys } from "./code/seed.ts";
import type { SeedSize } from "./foundation/seed.ts";
import { seedKeys, seedSessions, seedTokens, seedUsers } from "./identity/seed.ts";
import { organizationSeeds } from "./organization/seed.ts";
import { seedAuditEvents } from "./platform/seed.ts";

/** Every step of the seed; each builds on those before it. A new one goes to the end, so that kept databases get it. */
export const seeds: readonly SeedStep<SeedSize>[] = [
  seedUsers,
  ...organizationSeeds,
  seedTokens,
  seedDeployKeys,
  seedKeys,
  seedSessions,
  seedAuditEvents,
];
