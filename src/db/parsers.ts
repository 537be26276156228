import { types, type CustomTypesConfig } from "pg";

type Parse = (text: string) => unknown;

/**
 * Converts PostgreSQL's text in a UTC session, `2026-11-15 01:54:42.12+00`, to the form of the API,
 * `2026-11-15T01:54:42.120Z`. Infinity becomes null.
 */
export function wireTime(text: string): string | null {
  switch (text.length) {
    case 26:
    case 27:
    case 28:
    case 29:
      return `${text.slice(0, 10)}T${text.slice(11, 23)}Z`;
    case 25:
      return `${text.slice(0, 10)}T${text.slice(11, 22)}0Z`;
    case 24:
      return `${text.slice(0, 10)}T${text.slice(11, 21)}00Z`;
    case 22:
      return `${text.slice(0, 10)}T${text.slice(11, 19)}.000Z`;
    default:
      if (text.endsWith("infinity")) return null;
      throw new RangeError(`Not a time of the years 1 to 9999: ${text}`);
  }
}

const asIs: Parse = (text) => text;
const textArray: (text: string) => (string | null)[] = types.getTypeParser(1009 as number);
const arrayOf =
  (parse: Parse): Parse =>
  (text) =>
    textArray(text).map((element) => (element === null ? null : parse(element)));

/** By type oid, which never changes: int8, timestamptz, timestamp and date, and their arrays. */
const parsers = new Map<number, Parse>([
  [20, Number],
  [1016, arrayOf(Number)],
  [1184, wireTime],
  [1185, arrayOf(wireTime)],
  [1114, asIs],
  [1115, textArray],
  [1082, asIs],
  [1182, textArray],
]);

/** Parses PostgreSQL's values: ids become numbers, times become strings in the form of the API, never a Date. */
export const typeParsers: CustomTypesConfig = {
  getTypeParser: (id: number, format?: "text" | "binary") => parsers.get(id) ?? types.getTypeParser(id, format),
};
