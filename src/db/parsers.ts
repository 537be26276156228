import { types, type CustomTypesConfig } from "pg";

type Parse = (text: string) => unknown;

/**
 * A time as the wire shows it, `2026-11-15T01:54:42.120Z`, from PostgreSQL's text of a UTC session, which drops zeros
 * at the end: `2026-11-15 01:54:42.12+00`. Infinity has no wire form and becomes null.
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

/** By type id of the catalogue, which never changes: int8, timestamptz, timestamp and date, and the arrays of them. */
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

/** How values of PostgreSQL become ours: ids are numbers, times are wire strings, and nothing is ever a Date. */
export const typeParsers: CustomTypesConfig = {
  getTypeParser: (id: number, format?: "text" | "binary") => parsers.get(id) ?? types.getTypeParser(id, format),
};
