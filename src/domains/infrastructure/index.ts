import type { Domain } from "#domains/foundation/domain.ts";
import { probeCluster } from "./clusters/jobs.ts";
import { clusters } from "./clusters/routes.ts";
import { infrastructureConstraints } from "./constraints.ts";
import { infrastructureDeletions } from "./deletions.ts";
import { seedClusters } from "./seed.ts";

export const infrastructure: Domain = {
  resources: { clusters },
  jobs: [probeCluster],
  constraints: infrastructureConstraints,
  deletions: infrastructureDeletions,
  seeds: [seedClusters],
};
