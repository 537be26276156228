import { inProject } from "#access/containers.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { changeAlert } from "./actions.ts";
import { AlertStatusCounts, statusCounts } from "./counts.ts";
import { Alert, AlertDetails } from "./entity.ts";
import { listOfProject, PAGING } from "./list.ts";
import { AlertChanges, AlertFilters, AlertId } from "./params.ts";
import { type AlertRow, alerts as alertRows, requireAlert } from "./queries.ts";
import { alertView, alertViews } from "./views.ts";

const PATH = "/projects/:id/alert_management_alerts";
const ALIAS = "/projects/:id/alerts";
const feature = "monitoring";
const reader = inProject("developer", { feature });

export const alerts = {
  list: endpoint({
    method: "GET",
    path: PATH,
    alias: ALIAS,
    summary: "List the alerts of a project",
    access: reader,
    params: AlertFilters,
    returns: pageOf(Alert, PAGING),
    async handle({ db, page, params, ...viewer }) {
      const rows = await page.rows(alertRows(db), listOfProject(viewer.project.id, params));
      return alertViews(db, rows, viewer);
    },
  }),

  statusCounts: endpoint({
    method: "GET",
    path: `${PATH}/status_counts`,
    alias: `${ALIAS}/status_counts`,
    summary: "Count the alerts of a project by their status, each up to 10,000",
    access: reader,
    params: ProjectId,
    returns: AlertStatusCounts,
    handle: ({ db, project }) => statusCounts(db, project.id),
  }),

  get: endpoint({
    method: "GET",
    path: `${PATH}/:alert_iid`,
    alias: `${ALIAS}/:alert_iid`,
    summary: "Get an alert with its payload and its timeline",
    access: reader,
    params: AlertId,
    returns: AlertDetails,
    async handle({ db, params, ...viewer }) {
      return alertView(db, await requireAlert(db, viewer.project.id, params.alert_iid), viewer);
    },
  }),

  update: endpoint({
    method: "PUT",
    path: `${PATH}/:alert_iid`,
    alias: `${ALIAS}/:alert_iid`,
    summary: "Change the status or the assignee of an alert",
    access: inProject("developer", { feature, unlessArchived: true }),
    params: AlertChanges,
    returns: AlertDetails,
    audit: auditedForOthers("alert_changed"),
    async handle({ params, ...write }) {
      const alert = await changeAlert(write, params);
      write.audit(targetOf(alert));
      return alertView(write.tx, alert, write);
    },
  }),
};

const targetOf = ({ id, iid, project_id }: AlertRow) =>
  ({ type: "Alert", id, name: `^alert#${iid}`, entity: { type: "Project", id: project_id } }) as const;
