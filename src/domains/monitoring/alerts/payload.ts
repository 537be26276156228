export interface Detail {
  readonly name: string;
  readonly value: string | null;
}

const MAX_DETAILS = 500;
const MAX_NAME_LENGTH = 255;
const MAX_VALUE_LENGTH = 1_000;

/** The values in a payload as a table, by their names with dots between. */
export const detailsOf = (payload: unknown): Detail[] => leavesOf(payload, "").take(MAX_DETAILS).toArray();

function* leavesOf(value: unknown, name: string): Generator<Detail> {
  const inner = entriesOf(value);
  if (inner.length === 0) yield { name, value: textOf(value) };
  for (const [key, each] of inner) yield* leavesOf(each, cut(name === "" ? key : `${name}.${key}`, MAX_NAME_LENGTH));
}

function entriesOf(value: unknown): [string, unknown][] {
  if (typeof value !== "object" || value === null) return [];
  // A list may have a million items, and only the first ones are shown.
  return Object.entries(Array.isArray(value) ? value.slice(0, MAX_DETAILS) : value);
}

const textOf = (value: unknown): string | null =>
  value === null ? null : cut(typeof value === "string" ? value : JSON.stringify(value), MAX_VALUE_LENGTH);

/** The beginning of a text; half of a character that takes two units is left out. */
const cut = (text: string, maxLength: number): string =>
  text.length <= maxLength ? text : text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, "");
