import type { RawSet } from "#http/params/raw.ts";
import { timeOf, valueAt } from "./values.ts";

/** The fields of an alert that a mapping may read elsewhere, and the types of values that each takes. */
export const MAPPABLE = {
  title: ["string"],
  description: ["string"],
  start_time: ["datetime"],
  end_time: ["datetime", "number"],
  service: ["string"],
  monitoring_tool: ["string"],
  hosts: ["string", "array"],
  severity: ["string"],
  fingerprint: ["string", "array"],
  platform_environment_name: ["string"],
} as const satisfies Readonly<Record<string, readonly ValueType[]>>;

export const VALUE_TYPES = ["string", "datetime", "array", "number"] as const;
export type ValueType = (typeof VALUE_TYPES)[number];
export type MappedField = keyof typeof MAPPABLE;

/** Where in a payload the value of a field is. */
export interface FieldMapping {
  readonly path: readonly string[];
  readonly type: ValueType;
  readonly label: string | null;
  /** Read if there is no such value at the path; after it, the field's usual place is. */
  readonly fallback_path: readonly string[] | null;
}
export type Mappings = Readonly<Partial<Record<MappedField, FieldMapping>>>;

/** The value that a mapping finds for a field; undefined if the field is to be read at its usual place. */
export function mappedValue(payload: RawSet, mappings: Mappings, field: MappedField): unknown {
  const mapping = mappings[field];
  if (!mapping) return undefined;
  const { path, fallback_path: fallback, type } = mapping;
  const found = typed(valueAt(payload, path), type);
  return found === undefined && fallback ? typed(valueAt(payload, fallback), type) : found;
}

/** A value of the type that was mapped; anything else counts as missing. */
function typed(value: unknown, type: ValueType): unknown {
  switch (type) {
    case "array":
      return Array.isArray(value) && value.length > 0 ? value : undefined;
    case "datetime":
      return timeOf(value);
    case "number":
      return typeof value === "number" ? value : undefined;
    case "string":
      return typeof value === "object" || value === "" ? undefined : value;
  }
}
