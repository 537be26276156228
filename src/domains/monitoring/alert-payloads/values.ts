import { readTime } from "#http/params/dates.ts";
import { isHash, type RawSet } from "#http/params/raw.ts";

const CONTROLS = /[\p{Cc}\u2028\u2029]+/gu;

/** A scalar as text; undefined for a blank one, and for lists and objects. */
export function textOf(value: unknown): string | undefined {
  const text = typeof value === "string" ? value : isScalar(value) ? String(value) : "";
  return text.trim() === "" ? undefined : text;
}

const isScalar = (value: unknown) => typeof value === "number" || typeof value === "boolean";

/** Cuts a text to so many characters, the last of which then is an ellipsis. */
export function truncated(text: string, max: number): string {
  if (text.length <= max) return text;
  const characters = [...text.slice(0, (max + 1) * 2)];
  return characters.length <= max ? characters.join("") : `${characters.slice(0, max - 1).join("")}…`;
}

/** A text in one line. */
export const lineOf = (text: string, max: number) => truncated(text.replaceAll(CONTROLS, " ").trim(), max);

const EPOCH_MILLISECONDS = /^\d{13}$/;
const HAS_ZONE = /(?:[Zz]|GMT|UTC?|[A-Z]{2,4}T|[+-]\d\d:?\d\d)\)?$/;
/** What fits into a `timestamptz` that is written with four digits of the year. */
const MAX_TIME = Date.UTC(9999, 11, 31);

/** A time in any usual form as UTC with milliseconds: ISO 8601, RFC 2822, or milliseconds since 1970. */
export function timeOf(value: unknown): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const text = String(value).trim();
  if (EPOCH_MILLISECONDS.test(text)) return new Date(Number(text)).toISOString();
  if (typeof value === "number") return undefined;
  const iso = readTime(text);
  if (iso !== undefined) return isYearOne(iso) ? undefined : iso;
  if (text.length > 64) return undefined;
  const time = Date.parse(HAS_ZONE.test(text) ? text : `${text} UTC`);
  return time >= 0 && time <= MAX_TIME ? new Date(time).toISOString() : undefined;
}

/** Go writes a time that was never set as the first day of year 1. */
const isYearOne = (iso: string) => iso.startsWith("0001-");

const MAX_HOSTS_LENGTH = 255;

/** A host or nested lists of them, as many as fit. */
export function hostsOf(value: unknown): readonly string[] {
  const hosts: string[] = [];
  let left = MAX_HOSTS_LENGTH;
  for (const item of flattened(value)) {
    const host = textOf(item)?.replaceAll(CONTROLS, " ").trim();
    if (host === undefined) continue;
    left -= host.length;
    if (left < 0) break;
    hosts.push(host);
  }
  return hosts;
}

/** The items of nested lists. */
export const flattened = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value.flat(Number.POSITIVE_INFINITY) as unknown[]) : [value];

/** What is at a path of names and indexes; no inherited property is found. */
export function valueAt(payload: unknown, path: readonly string[]): unknown {
  let value = payload;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as RawSet)[name];
  }
  return value;
}

/** JSON with the keys of every object in one order, so that equal objects have equal texts. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    isHash(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );

/** Whether nothing in a value says anything. */
export function isBlank(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(isBlank);
  return value === null || value === undefined || (typeof value === "string" && value.trim() === "");
}
