import { randomBytes } from "node:crypto";
import type { Contract, FixtureContext, Parent } from "#test/contract.ts";
import { inProject, READ, WRITE } from "#test/matrix/line.ts";
import { alert, insert, insertForIds, word } from "#test/matrix/rows.ts";
import { any, common, FIRST, list, none, unskippable } from "#test/plans/request.ts";

const PATH = "/projects/:id/alert_management_alerts";
const ALERT = { child: "alert" } as const;

const FILTERS = [
  ...["status=resolved", "status=triggered,acknowledged", "severity=critical", "severity=low&status=ignored"].map(any),
  ...["started_after=2022-06-03T00:00:00Z", "started_before=2022-06-03T00:00:00Z", "environment=staging"].map(any),
  ...[common("search=anchor"), none("search=nothing"), none("environment=nowhere"), none("assignee_username=nobody")],
  ...[common("search=anchor&status=resolved"), none("integration_id=1&status=triggered&search=nothing")],
];
const ORDERS = ["created_at", "severity", "status", "updated_at", "event_count"].flatMap((order) => [
  `order_by=${order}&sort=asc`,
  `order_by=${order}`,
]);

/** Alerts, each of an integration of its own and assigned to one of several people. */
async function makeAlerts({ db, person }: FixtureContext, parents: readonly Parent[]) {
  const now = new Date().toISOString();
  const integrations = parents.map(({ id }) => ({
    ...{ project_id: id, type: "http", name: word(), active: true },
    ...{ endpoint_identifier: randomBytes(8).toString("hex"), payload_attribute_mappings: {} },
    ...{ created_at: now, updated_at: now },
  }));
  const integrationIds = await insertForIds(db, "alert_integrations", integrations, "name");
  const rows = parents.map(({ id }, at) => alert(id, integrationIds[at]));
  const ids = await insertForIds(db, "alerts", rows, "title");
  const people = await Promise.all(["first", "second", "third"].map((name) => person(`${name} assignee of alerts`)));
  const assignees = ids.map((alert_id, at) => ({ alert_id, user_id: people[at % people.length] }));
  await insert(db, "alert_assignees", assignees);
  const assigned = assignees.map(({ alert_id, user_id }) => ({
    ...{ alert_id, user_id, action: "assigned", assignee_id: user_id, created_at: now },
  }));
  await insert(db, "alert_changes", assigned);
  return rows.map(({ iid }) => iid);
}

export const contract: Contract = {
  lines: {
    [`GET ${PATH}`]: inProject("developer", 200, READ, { holds: "alert" }),
    [`GET ${PATH}/status_counts`]: inProject("developer", 200, READ),
    [`GET ${PATH}/:alert_iid`]: inProject("developer", 200, READ, ALERT),
    [`PUT ${PATH}/:alert_iid`]: inProject("developer", 200, WRITE, {
      ...{ ...ALERT, unaudited: "by oneself", send: "status=acknowledged" },
      answers: { archived: 403, "archived above": 403 },
    }),
  },
  tables: ["alerts", "alert_assignees", "alert_changes"],
  plans: {
    // The project with the most alerts.
    sample: `select project_id as project, max(iid) as iid, max(integration_id) as integration from alerts
      group by project_id order by count(*) desc, project_id limit 1`,
    requests: ({ project, iid, integration }) => {
      const path = `/projects/${project}/alert_management_alerts`;
      return [
        ...list(path, { filters: ["", unskippable("severity=high")] }),
        ...list(path, { filters: [...FILTERS, any(`integration_id=${integration}`)], places: FIRST }),
        ...list(path, { orders: ORDERS, places: FIRST }),
        ...list(`${path}/status_counts`, { places: FIRST }),
        ...list(`${path}/${iid}`, { places: FIRST }),
      ];
    },
    indexes: ({ project }) => ({
      alerts_of_project_by_started_at: `/projects/${project}/alert_management_alerts`,
      alerts_of_project_by_status: `/projects/${project}/alert_management_alerts/status_counts`,
      alerts_of_environment: `/projects/${project}/alert_management_alerts?environment=nowhere`,
    }),
  },
  fixtures: { alert: { parents: ["project"], make: makeAlerts } },
};
