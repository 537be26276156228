import type { Resources } from "#http/app.ts";
import type { Domain } from "#domains/foundation/domain.ts";
import { auditEvents } from "./audit-events/routes.ts";
import { platformDeletions } from "./deletions.ts";
import { health } from "./health/routes.ts";
import { jobMetrics } from "./job-metrics/routes.ts";
import { referenceOf } from "./reference/routes.ts";
import { seedAuditEvents } from "./seed.ts";
import { settings } from "./settings/routes.ts";
import { versions } from "./version/routes.ts";

/** The endpoints about the installation; the reference page lists those of every domain. */
export const platform = (all: () => Resources): Domain => ({
  resources: {
    settings,
    auditEvents,
    versions,
    jobMetrics,
    health,
    reference: referenceOf(all),
  },
  deletions: platformDeletions,
  seeds: [seedAuditEvents],
});
