import type { Domain } from "#domains/foundation/domain.ts";
import { alertIngestion } from "./alert-ingestion/routes.ts";
import { alertIntegrations } from "./alert-integrations/routes.ts";
import { alertMetricImages } from "./alert-metric-images/routes.ts";
import { alerts } from "./alerts/routes.ts";
import { monitoringConstraints } from "./constraints.ts";
import { monitoringDeletions } from "./deletions.ts";
import { errorTracking } from "./error-tracking/routes.ts";
import { seedAlerts, seedErrorTracking } from "./seed.ts";

export const monitoring: Domain = {
  resources: { alertIntegrations, alertIngestion, alerts, alertMetricImages, errorTracking },
  constraints: monitoringConstraints,
  deletions: monitoringDeletions,
  seeds: [seedErrorTracking, seedAlerts],
};
