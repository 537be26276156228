import Type, { type Static } from "typebox";
import { Flag, Id, Line, Nullable, Text } from "#http/params/vocabulary.ts";
import { ORIGINAL_NAMES } from "#domains/foundation/original-names.ts";
import { MAPPABLE, VALUE_TYPES } from "#domains/monitoring/alert-payloads/mapping.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";

export const INTEGRATION_TYPES = ["http", "prometheus", "incident_management"] as const;

const Path = Type.Array(Text(255), {
  ...{ minItems: 1, maxItems: 20 },
  description: "Names of objects and indexes of lists, from the outside in",
});

const FieldMapping = Type.Object({
  field_name: Type.Enum([...Object.keys(MAPPABLE), ORIGINAL_NAMES.platform_environment_name], {
    description: "The field of an alert",
  }),
  path: Path,
  type: Type.Enum([...VALUE_TYPES]),
  label: Type.Optional(Nullable(Type.String({ maxLength: 255 }))),
  fallback_path: Type.Optional(
    Nullable(Type.Array(Text(255), { minItems: 1, maxItems: 20, description: "Where to read it otherwise" })),
  ),
});

const mappings = {
  payload_attribute_mappings: Type.Optional(
    Type.Array(FieldMapping, {
      maxItems: 20,
      description: "Where fields are read, if not at their usual places; for Prometheus in one item of `alerts`",
    }),
  ),
};

/** As long as the column is. */
const Sample = Type.String({
  maxLength: 65_536,
  description: "A payload as JSON; for Prometheus one item of `alerts`",
});

const settings = {
  active: Flag,
  external_url: Type.Optional(
    Type.String({ maxLength: 2048, description: "Of incident management, which is used instead of alerts" }),
  ),
  payload_example: Type.Optional(Nullable(Sample)),
  ...mappings,
};

export const NewIntegration = Type.Object({
  ...ProjectId.properties,
  name: Line(255),
  type: Type.Enum([...INTEGRATION_TYPES], { default: "http" }),
  ...settings,
});

export const IntegrationId = Type.Object({ ...ProjectId.properties, integration_id: Id });

export const IntegrationChanges = Type.Object({
  ...IntegrationId.properties,
  name: Type.Optional(Line(255)),
  ...settings,
});

const WEEK_SECONDS = 7 * 24 * 3600;

export const KeyReset = Type.Object({
  ...IntegrationId.properties,
  overlap_seconds: Type.Integer({
    ...{ minimum: 0, maximum: WEEK_SECONDS, default: 0 },
    description: "How long the previous key stays valid",
  }),
});

export const SamplePayload = Type.Object({ ...ProjectId.properties, payload: Sample });

export const PreviewedPayload = Type.Object({
  ...SamplePayload.properties,
  type: Type.Enum(["http", "prometheus"], { default: "http" }),
  ...mappings,
});

/** What a request says about an integration, new or not. */
export type GivenIntegration = Pick<
  Static<typeof IntegrationChanges>,
  "name" | "active" | "external_url" | "payload_example" | "payload_attribute_mappings"
>;
export type GivenMappings = GivenIntegration["payload_attribute_mappings"];
