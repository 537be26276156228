import type { TSchema } from "typebox";
import type { Operation } from "#http/app.ts";
import { pathNames } from "#http/endpoint.ts";

/** A parameter at its largest, as a form has it. */
export interface LargestValue {
  readonly name: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** Shorter texts cost nothing. */
const MIN_LENGTH = 2_000;
/** A body may have 1 MiB, with all of its parameters. */
const MAX_LENGTH = 1_000_000;
/** A request target may have 8 KiB. */
const MAX_QUERY_LENGTH = 4_000;
const MAX_ITEMS = 1_000;

type Keywords = {
  readonly [name in "type" | "format" | "enum" | "maxLength" | "maxItems" | "commaList"]?: unknown;
} & {
  readonly anyOf?: readonly Keywords[];
  readonly items?: Keywords;
  readonly properties?: Readonly<Record<string, Keywords>>;
};

/** Every parameter of an operation that takes a long text or a list, at its largest. */
export function largestValues({ endpoint }: Operation): LargestValue[] {
  const inPath = new Set(pathNames(endpoint.path));
  const { properties = {} } = endpoint.params as TSchema as Keywords;
  return Object.entries(properties).flatMap(([name, schema]) =>
    inPath.has(name) ? [] : largestOf(name, schema, endpoint.method === "GET"),
  );
}

function largestOf(name: string, schema: Keywords, isQuery: boolean): LargestValue[] {
  if (schema.anyOf) return schema.anyOf.flatMap((option) => largestOf(name, option, isQuery));
  if (schema.properties)
    return Object.entries(schema.properties).flatMap(([inner, option]) =>
      largestOf(`${name}[${inner}]`, option, isQuery),
    );
  if (schema.type === "array") return listOf(name, schema, isQuery);
  if (schema.type !== "string" || schema.format !== undefined || schema.enum !== undefined) return [];
  const length = Math.min(Number(schema.maxLength ?? MAX_LENGTH), isQuery ? MAX_QUERY_LENGTH : MAX_LENGTH);
  return length < MIN_LENGTH ? [] : [{ name, fields: [[name, "x".repeat(length)]] }];
}

function listOf(name: string, { items, maxItems, commaList }: Keywords, isQuery: boolean): LargestValue[] {
  if (items?.type !== "string" && items?.type !== "integer") return [];
  const count = Math.min(Number(maxItems ?? MAX_ITEMS), MAX_ITEMS);
  const length = Math.min(Number(items.maxLength ?? 1), Math.floor((isQuery ? MAX_QUERY_LENGTH : MAX_LENGTH) / count));
  const values = Array.from({ length: count }, (_, index) =>
    items.type === "integer" ? String(index + 1) : `n${index}`.padEnd(Math.min(length, 200), "x"),
  );
  return [{ name, fields: commaList ? [[name, values.join(",")]] : values.map((value) => [`${name}[]`, value]) }];
}
