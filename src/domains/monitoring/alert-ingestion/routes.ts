import Type from "typebox";
import { inProject } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { INGESTION_LIMITS } from "#http/params/json.ts";
import { badRequest, forbidden } from "#lib/refusal.ts";
import { byIntegrationKey, type Sender } from "#domains/monitoring/alert-integrations/access.ts";
import { IntegrationId } from "#domains/monitoring/alert-integrations/params.ts";
import { requireIntegration } from "#domains/monitoring/alert-integrations/queries.ts";
import { ingest, type Ingestion } from "./ingest.ts";

const ProjectPath = Type.Object({ project: Type.String({ description: "Full path of the project" }) });
const AddressOfIntegration = Type.Object({
  ...ProjectPath.properties,
  slug: Type.String({ description: "The name of the integration, for people" }),
  identifier: Type.String({ description: "The identifier of the integration" }),
});

/** The alerts that a request created, repeated or resolved. */
const IngestedAlerts = Type.Array(
  Type.Object({ iid: Type.Integer(), title: Type.String() }, { additionalProperties: false, title: "IngestedAlert" }),
);

const body = { kind: "raw", bytes: 10 * 1024 * 1024, json: INGESTION_LIMITS } as const;

/** Senders take a 4xx as final, so no rate limit refuses them; what waits for the database is bounded. */
const receiving = {
  method: "POST",
  mount: "root",
  limit: "none",
  access: byIntegrationKey(),
  body,
  transaction: "own",
  returns: IngestedAlerts,
  status: 200,
  audit: null,
} as const;

interface Received extends Ingestion {
  readonly sender: Sender;
  json(): unknown;
}
const receive = ({ sender, json, ...context }: Received) => ingest(context, sender, json());

export const alertIngestion = {
  receiveFromPrometheus: endpoint({
    ...receiving,
    path: "/*project/prometheus/alerts/notify",
    summary: "Receive alerts at the older address for Prometheus; a suffix `.json` is ignored",
    params: ProjectPath,
    handle: receive,
  }),

  receiveLegacy: endpoint({
    ...receiving,
    path: "/*project/alerts/notify",
    summary: "Receive alerts at the older address; the key tells the integration, and a suffix `.json` is ignored",
    params: ProjectPath,
    handle: receive,
  }),

  receive: endpoint({
    ...receiving,
    path: "/*project/alerts/notify/:slug/:identifier",
    summary: "Receive alerts, in the generic format or as a webhook for metrics; a suffix `.json` is ignored",
    params: AddressOfIntegration,
    handle: receive,
  }),

  test: endpoint({
    method: "POST",
    path: "/projects/:id/alert_integrations/:integration_id/test",
    summary: "Send a test alert: the body is a payload as the integration would receive it, and creates a real alert",
    access: inProject("developer", { feature: "monitoring", unlessArchived: true }),
    params: IntegrationId,
    body,
    transaction: "own",
    returns: IngestedAlerts,
    status: 200,
    audit: null,
    async handle({ project, params, json, ...context }) {
      const integration = await requireIntegration(context.databases.write, project.id, params.integration_id);
      if (integration.type === "incident_management") throw badRequest("Incident management receives no alerts");
      if (!integration.active) throw forbidden("The alert integration is not active");
      return ingest(context, integration, json());
    },
  }),
};
