import { isHash, type RawSet } from "#http/params/raw.ts";
import type { ValueType } from "./mapping.ts";

/** A value in a sample payload that a mapping can name. */
export interface PayloadField {
  readonly path: string[];
  readonly label: string;
  readonly type: ValueType;
}

const MAX_FIELDS = 1_000;
/** Of all paths and labels together: the names in a sample may be long, and each is repeated in what is below it. */
const MAX_LENGTH = 256 * 1024;
const STARTS_WITH_YEAR = /^\d{4}/;

/** Every value of a payload that has a type of a mapping, lists both as a whole and item by item; the first thousand. */
export function fieldsIn(payload: RawSet): PayloadField[] {
  const fields: PayloadField[] = [];
  let length = 0;
  const visit = (value: unknown, path: readonly string[], label: string) => {
    length += label.length;
    if (fields.length >= MAX_FIELDS || length > MAX_LENGTH) return;
    const type = typeOf(value);
    if (type !== undefined) fields.push({ path: [...path], label, type });
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, [...path, String(index)], `${label}[${index}]`);
    } else if (isHash(value)) {
      for (const [name, item] of Object.entries(value))
        visit(item, [...path, name], label === "" ? name : `${label}/${name}`);
    }
  };
  visit(payload, [], "");
  return fields;
}

function typeOf(value: unknown): ValueType | undefined {
  if (Array.isArray(value)) return "array";
  if (typeof value === "string") return STARTS_WITH_YEAR.test(value) ? "datetime" : "string";
  return Number.isInteger(value) ? "number" : undefined;
}
