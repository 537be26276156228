import Type from "typebox";
import { inProject } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { unprocessable } from "#lib/refusal.ts";
import { fieldsIn } from "#domains/monitoring/alert-payloads/fields.ts";
import { readGeneric } from "#domains/monitoring/alert-payloads/generic.ts";
import { readItem } from "#domains/monitoring/alert-payloads/metrics.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { addIntegration, changeIntegration, removeIntegration, resetKey } from "./actions.ts";
import { checkedMappings, checkedSample } from "./check.ts";
import {
  AlertIntegration,
  AlertIntegrationWithKey,
  AlertPreview,
  PayloadField,
  presentIntegration,
  presentIntegrationWithKey,
  presentPreview,
  presentSingleIntegration,
  SingleAlertIntegration,
} from "./entity.ts";
import {
  IntegrationChanges,
  IntegrationId,
  KeyReset,
  NewIntegration,
  PreviewedPayload,
  SamplePayload,
} from "./params.ts";
import { type IntegrationRow, integrationsOf, requireIntegration } from "./queries.ts";

const ALL = "/projects/:id/alert_integrations";
const ONE = `${ALL}/:integration_id` as const;
const feature = "monitoring";
const maintainer = inProject("maintainer", { feature });
const maintainerOfLive = inProject("maintainer", { feature, unlessArchived: true });

export const alertIntegrations = {
  list: endpoint({
    method: "GET",
    path: ALL,
    summary: "List the alert integrations of a project",
    access: maintainer,
    params: ProjectId,
    returns: pageOf(AlertIntegration, { id: "i.id" }),
    handle: ({ db, project, page, site }) => page(integrationsOf(db, project.id), presentIntegration(site)),
  }),

  get: endpoint({
    method: "GET",
    path: ONE,
    summary: "Get an alert integration",
    access: maintainer,
    params: IntegrationId,
    returns: SingleAlertIntegration,
    handle: async ({ db, project, params, site }) =>
      presentSingleIntegration(site, await requireIntegration(db, project.id, params.integration_id)),
  }),

  create: endpoint({
    method: "POST",
    path: ALL,
    summary: "Create an alert integration; only this response has its key",
    access: maintainerOfLive,
    params: NewIntegration,
    returns: AlertIntegrationWithKey,
    audit: "alert_integration_created",
    idempotent: {},
    async handle({ project, params: { id: _, ...given }, site, audit, ...write }) {
      const created = await addIntegration(write, project.id, given);
      audit(targetOf(created.row));
      return presentIntegrationWithKey(site, created);
    },
  }),

  update: endpoint({
    method: "PUT",
    path: ONE,
    summary: "Change an alert integration",
    access: maintainerOfLive,
    params: IntegrationChanges,
    returns: SingleAlertIntegration,
    audit: "alert_integration_updated",
    async handle({ project, params: { id: _, integration_id, ...given }, site, audit, ...write }) {
      const integration = await changeIntegration(write, project.id, integration_id, given);
      audit(targetOf(integration));
      return presentSingleIntegration(site, integration);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: ONE,
    summary: "Delete an alert integration; its alerts stay",
    access: maintainer,
    params: IntegrationId,
    audit: "alert_integration_deleted",
    conditional: true,
    async handle({ tx, project, params, audit, unlessModified }) {
      const integration = await removeIntegration(tx, project.id, params.integration_id);
      unlessModified(integration.updated_at);
      audit(targetOf(integration));
    },
  }),

  resetKey: endpoint({
    method: "POST",
    path: `${ONE}/reset_token`,
    summary: "Replace the key of an alert integration; only this response has the new one",
    access: maintainerOfLive,
    params: KeyReset,
    returns: AlertIntegrationWithKey,
    status: 200,
    audit: "alert_integration_key_reset",
    idempotent: {},
    async handle({ tx, project, params, site, audit }) {
      const reset = await resetKey(tx, project.id, params.integration_id, params.overlap_seconds);
      audit(targetOf(reset.row, { overlap_seconds: params.overlap_seconds }));
      return presentIntegrationWithKey(site, reset);
    },
  }),

  payloadFields: endpoint({
    method: "POST",
    path: `${ALL}/payload_fields`,
    summary: "List the values of a sample payload that a mapping can name",
    access: maintainer,
    params: SamplePayload,
    returns: Type.Array(PayloadField),
    status: 200,
    audit: null,
    handle: ({ params }) => fieldsIn(checkedSample("payload", "http", params.payload)),
  }),

  preview: endpoint({
    method: "POST",
    path: `${ALL}/preview`,
    summary: "Show the alert that a payload would make with some mappings; nothing is created",
    access: maintainer,
    params: PreviewedPayload,
    returns: AlertPreview,
    status: 200,
    audit: null,
    async handle({ params: { type, payload, payload_attribute_mappings }, services }) {
      const mappings = checkedMappings(payload_attribute_mappings);
      const sample = checkedSample("payload", type, payload);
      const { generic_alert_fingerprinting } = await services.settings.current();
      const alert =
        type === "prometheus"
          ? readItem(sample, mappings, services.now())
          : readGeneric(sample, mappings, generic_alert_fingerprinting);
      if (!alert) throw unprocessable("An item needs `startsAt`, and a title, a summary or a label `alertname`");
      return presentPreview(alert);
    },
  }),
};

const targetOf = ({ id, name, type, active, project_id }: IntegrationRow, details: object = {}) =>
  ({
    ...{ type: "AlertIntegration", id, name, details: { type, active, ...details } },
    entity: { type: "Project", id: project_id },
  }) as const;
