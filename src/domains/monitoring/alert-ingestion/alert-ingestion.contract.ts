import type { Contract } from "#test/contract.ts";
import { inProject, line, WRITE } from "#test/matrix/line.ts";

/** Only the key of an integration opens them, and no caller of the matrix has one. */
const BY_KEY = line(401, 401, 401, WRITE, { ignoresCredentials: true });

export const contract: Contract = {
  lines: {
    "POST /*project/prometheus/alerts/notify": BY_KEY,
    "POST /*project/alerts/notify": BY_KEY,
    "POST /*project/alerts/notify/:slug/:identifier": BY_KEY,
    "POST /projects/:id/alert_integrations/:integration_id/test": inProject("developer", 200, WRITE, {
      ...{ child: "alert integration", send: "title=*", asJson: true, unaudited: true },
      answers: { archived: 403, "archived above": 403 },
    }),
  },
  tables: ["alert_counters"],
  cascades: ["alert_counters.project_id"],
  differing: ["iid"],
  unrepeatable: {
    "POST /*project/prometheus/alerts/notify": "only the key of an integration opens it",
    "POST /*project/alerts/notify": "only the key of an integration opens it",
    "POST /*project/alerts/notify/:slug/:identifier": "only the key of an integration opens it",
    "POST /projects/:id/alert_integrations/:integration_id/test": "whatever the body has is part of the alert",
  },
};
