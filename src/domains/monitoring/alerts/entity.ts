import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import type { AlertRow } from "./queries.ts";
import { AlertChange } from "./timeline.ts";
import { SEVERITIES } from "#domains/monitoring/alert-payloads/severity.ts";
import { ALERT_STATUSES, severityOf, statusOf } from "./words.ts";

const exact = { additionalProperties: false };
const Text = Type.String();
const Time = Type.String({ format: "date-time" });

const alert = {
  id: Type.Integer(),
  iid: Type.Integer(),
  project_id: Type.Integer(),
  title: Text,
  description: Nullable(Text),
  service: Nullable(Text),
  monitoring_tool: Nullable(Text),
  hosts: Type.Array(Text),
  severity: Type.Enum([...SEVERITIES]),
  status: Type.Enum([...ALERT_STATUSES]),
  started_at: Time,
  ended_at: Nullable(Time),
  event_count: Type.Integer({ description: "How often it was reported" }),
  events: Type.Integer({ description: "The same as `event_count`" }),
  environment: Nullable(Text),
  runbook: Nullable(Text),
  query: Nullable(Type.String({ description: "What the monitoring tool evaluated" })),
  assignees: Type.Array(UserSummary),
  integration: Nullable(Type.Object({ id: Type.Integer(), name: Text }, exact)),
  created_at: Time,
  updated_at: Time,
  web_url: Type.String({ format: "uri" }),
  details_url: Type.String({ format: "uri" }),
};

/** A problem that a monitoring tool reported. */
export const Alert = Type.Object(alert, { ...exact, title: "Alert" });

/** The same with what was reported, and what happened since. */
export const AlertDetails = Type.Object(
  {
    ...alert,
    payload: Type.Unknown({ description: "What the monitoring tool sent" }),
    details: Type.Array(Type.Object({ name: Text, value: Nullable(Text) }, exact), {
      description: "The values in `payload` by their names with dots between, at most 500 of them",
    }),
    grouped_by: Type.Record(Text, Type.Unknown(), {
      description: "The values that later reports must have to count as the same alert",
    }),
    timeline: Type.Array(AlertChange, { description: "Its latest 100 changes, the last one first" }),
  },
  { ...exact, title: "AlertDetails" },
);

/** What an alert is presented with besides its row. */
export interface AlertAssociations {
  readonly site: string;
  /** The full path of its project. */
  readonly path: string;
  readonly assignee: UserSummary | undefined;
}

export function presentAlert(row: AlertRow, { site, path, assignee }: AlertAssociations): Static<typeof Alert> {
  const { integration_id, integration_name } = row;
  const url = `${site}/${path}/-/alert_management/${row.iid}/details`;
  return {
    id: row.id,
    iid: row.iid,
    project_id: row.project_id,
    title: row.title,
    description: row.description,
    service: row.service,
    monitoring_tool: row.monitoring_tool,
    hosts: row.hosts,
    severity: severityOf(row.severity),
    status: statusOf(row.status),
    started_at: row.started_at,
    ended_at: row.ended_at,
    event_count: row.event_count,
    events: row.event_count,
    environment: row.environment_name,
    runbook: row.runbook,
    query: row.query,
    assignees: assignee ? [assignee] : [],
    integration: integration_id === null ? null : { id: integration_id, name: integration_name ?? "" },
    created_at: row.created_at,
    updated_at: row.updated_at,
    web_url: url,
    details_url: url,
  };
}
