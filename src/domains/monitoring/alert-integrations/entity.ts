import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import type { ReportedAlert } from "#domains/monitoring/alert-payloads/alert.ts";
import { MAPPABLE, type MappedField, VALUE_TYPES } from "#domains/monitoring/alert-payloads/mapping.ts";
import { SEVERITIES } from "#domains/monitoring/alert-payloads/severity.ts";
import type { WithKey } from "./actions.ts";
import { INTEGRATION_TYPES } from "./params.ts";
import type { IntegrationRow } from "./queries.ts";

const exact = { additionalProperties: false };
const Text = Type.String();
const Time = Type.String({ format: "date-time" });
const Path = Type.Array(Text);

const integration = {
  id: Type.Integer(),
  project_id: Type.Integer(),
  name: Text,
  type: Type.Enum([...INTEGRATION_TYPES]),
  active: Type.Boolean(),
  endpoint_identifier: Nullable(Text),
  url: Nullable(Type.String({ description: "Where to send alerts" })),
  external_url: Nullable(Type.String({ description: "Of incident management" })),
  payload_attribute_mappings: Type.Array(
    Type.Object(
      {
        field_name: Type.Enum(Object.keys(MAPPABLE)),
        path: Path,
        type: Type.Enum([...VALUE_TYPES]),
        label: Nullable(Text),
        fallback_path: Nullable(Path),
      },
      exact,
    ),
  ),
  previous_key_expires_at: Nullable(Type.String({ format: "date-time", description: "While two keys are valid" })),
  created_at: Time,
  updated_at: Time,
};

const sample = { payload_example: Nullable(Text) };

/** Where alerts of a project come from, in a list. */
export const AlertIntegration = Type.Object(integration, { ...exact, title: "AlertIntegration" });
export const SingleAlertIntegration = Type.Object(
  { ...integration, ...sample },
  { ...exact, title: "SingleAlertIntegration" },
);
/** The same with its key, which is shown only once. */
export const AlertIntegrationWithKey = Type.Object(
  { ...integration, ...sample, token: Nullable(Type.String({ description: "The authorization key" })) },
  { ...exact, title: "AlertIntegrationWithKey" },
);

export const presentIntegration =
  (site: string) =>
  (row: IntegrationRow): Static<typeof AlertIntegration> => ({
    id: row.id,
    project_id: row.project_id,
    name: row.name,
    type: row.type,
    active: row.active,
    endpoint_identifier: row.endpoint_identifier,
    url: addressOf(site, row),
    external_url: row.external_url,
    payload_attribute_mappings: Object.entries(row.mappings).map(([field_name, mapping]) => ({
      field_name: field_name as MappedField,
      path: [...mapping.path],
      type: mapping.type,
      label: mapping.label,
      fallback_path: mapping.fallback_path && [...mapping.fallback_path],
    })),
    previous_key_expires_at: row.previous_key_expires_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  });

export const presentSingleIntegration = (site: string, row: IntegrationRow): Static<typeof SingleAlertIntegration> => ({
  ...presentIntegration(site)(row),
  payload_example: row.payload_example,
});

export const presentIntegrationWithKey = (
  site: string,
  { row, key }: WithKey,
): Static<typeof AlertIntegrationWithKey> => ({ ...presentSingleIntegration(site, row), token: key ?? null });

/** The name is for people who read the address; only the identifier counts. */
function addressOf(site: string, { project_path, name, endpoint_identifier: identifier }: IntegrationRow) {
  return identifier && `${site}/${project_path}/alerts/notify/${slugOf(name)}/${identifier}.json`;
}

const slugOf = (name: string) =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replaceAll(/^-|-$/g, "") || "alerts";

/** A value in a sample that a mapping can name. */
export const PayloadField = Type.Object(
  { path: Path, label: Text, type: Type.Enum([...VALUE_TYPES]) },
  { ...exact, title: "PayloadField" },
);

/** The alert that a payload would make. */
export const AlertPreview = Type.Object(
  {
    title: Text,
    description: Nullable(Text),
    severity: Type.Enum([...SEVERITIES]),
    service: Nullable(Text),
    monitoring_tool: Nullable(Text),
    hosts: Type.Array(Text),
    environment: Nullable(Text),
    runbook: Nullable(Text),
    query: Nullable(Text),
    started_at: Nullable(Type.String({ format: "date-time", description: "Null for the time it arrives" })),
    status: Type.Enum(["triggered", "resolved"], { description: "Whether it would open an alert, or resolve one" }),
    ended_at: Nullable(Time),
    fingerprint: Nullable(Type.String({ description: "SHA-256; null if it would be grouped with no other" })),
    grouped_by: Type.Object(
      {
        by: Type.Enum(["fingerprint", "payload", "item", "nothing"]),
        value: Type.Optional(Text),
        without: Type.Optional(Type.Array(Text)),
        starts_at: Type.Optional(Text),
        title: Type.Optional(Text),
        query: Type.Optional(Nullable(Text)),
      },
      { ...exact, description: "What the fingerprint is computed from" },
    ),
  },
  { ...exact, title: "AlertPreview" },
);

export const presentPreview = (alert: ReportedAlert): Static<typeof AlertPreview> => ({
  title: alert.title,
  description: alert.description,
  severity: alert.severity,
  service: alert.service,
  monitoring_tool: alert.monitoringTool,
  hosts: [...alert.hosts],
  environment: alert.environmentName,
  runbook: alert.runbook,
  query: alert.query,
  started_at: alert.startedAt,
  status: alert.resolves ? "resolved" : "triggered",
  ended_at: alert.resolves ? alert.endedAt : null,
  fingerprint: alert.digest && alert.digest.toString("hex"),
  grouped_by: alert.groupedBy,
});
