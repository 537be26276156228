import { isHash, type RawSet } from "#http/params/raw.ts";
import { INGESTION_LIMITS, parseJson } from "#http/params/json.ts";
import { type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { Refusal } from "#lib/refusal.ts";
import { ORIGINAL_NAMES } from "#domains/foundation/original-names.ts";
import {
  type FieldMapping,
  MAPPABLE,
  type MappedField,
  type Mappings,
} from "#domains/monitoring/alert-payloads/mapping.ts";
import { isMetricsFormat } from "#domains/monitoring/alert-payloads/metrics.ts";
import type { GivenIntegration, GivenMappings, INTEGRATION_TYPES } from "./params.ts";

export type IntegrationType = (typeof INTEGRATION_TYPES)[number];

/** The columns that a request sets. Throws everything that is wrong with it at once. */
export function checkedColumns(type: IntegrationType, given: GivenIntegration) {
  const problems: Problems = {};
  const { payload_example: sample, external_url, payload_attribute_mappings: mappings } = given;
  if (sample) sampleIn(problems, "payload_example", type, sample);
  if (type === "incident_management") checkManagement(problems, given);
  else if (external_url !== undefined) refuse(problems, "external_url", "is only for the type incident_management");
  const columns = {
    ...(given.name !== undefined && { name: given.name }),
    ...(given.active !== undefined && { active: given.active }),
    ...(external_url !== undefined && { external_url }),
    ...(sample !== undefined && { payload_example: sample }),
    ...(mappings && { payload_attribute_mappings: mappingsIn(problems, mappings) }),
  };
  throwProblems(problems);
  return columns;
}

function checkManagement(problems: Problems, { external_url: url, ...given }: GivenIntegration) {
  if (url !== undefined && !isWebAddress(url)) refuse(problems, "external_url", "is not an http or https URL");
  for (const field of ["payload_example", "payload_attribute_mappings"] as const)
    if (given[field]) refuse(problems, field, "is not for the type incident_management, which receives no alerts");
}

const isWebAddress = (url: string) => /^https?:$/.test(URL.parse(url)?.protocol ?? "");

/** The payload in a text, as the type of integration receives it. */
export function checkedSample(field: string, type: IntegrationType, text: string): RawSet {
  const problems: Problems = {};
  const sample = sampleIn(problems, field, type, text);
  throwProblems(problems);
  return sample ?? {};
}

function sampleIn(problems: Problems, field: string, type: IntegrationType, text: string): RawSet | undefined {
  const sample = parsed(problems, field, text);
  if (sample === undefined) return undefined;
  if (!isHash(sample)) refuse(problems, field, "is not a JSON object");
  else if (type === "prometheus" && isMetricsFormat(sample))
    refuse(problems, field, "is a whole request; enter only the first item of its `alerts`");
  else return sample;
  return undefined;
}

function parsed(problems: Problems, field: string, text: string): unknown {
  try {
    return parseJson(Buffer.from(text), INGESTION_LIMITS);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    refuse(problems, field, error.message.replace("The request body ", ""));
    return undefined;
  }
}

/** Throws what is wrong with mappings. */
export function checkedMappings(given: GivenMappings = []): Mappings {
  const problems: Problems = {};
  const mappings = mappingsIn(problems, given);
  throwProblems(problems);
  return mappings;
}

/** The mappings of a request by the field they are for. */
function mappingsIn(problems: Problems, given: NonNullable<GivenMappings>): Mappings {
  const mappings: Partial<Record<MappedField, FieldMapping>> = {};
  for (const { field_name, path, type, label = null, fallback_path = null } of given) {
    const field = fieldNamed(field_name);
    const types: readonly string[] = MAPPABLE[field];
    if (mappings[field]) refuse(problems, "payload_attribute_mappings", `has ${field} twice`);
    if (!types.includes(type))
      refuse(problems, "payload_attribute_mappings", `the type of ${field} must be ${types.join(" or ")}`);
    mappings[field] = { path, type, label, fallback_path };
  }
  return mappings;
}

const fieldNamed = (name: string): MappedField =>
  name === ORIGINAL_NAMES.platform_environment_name ? "platform_environment_name" : (name as MappedField);
