import { MAX_ITEMS } from "./brackets.ts";
import { emptySet, isHash } from "./raw.ts";
import { EMPTY, INVALID, type Keywords, note, type Reader, tooLong } from "./scalars.ts";

const MAX_KEYS = 100;
const MAX_KEY_LENGTH = 255;
/** The limit of a list in a JSON body whose schema has none. */
const MAX_LIST_LENGTH = 1_000;
/** Of one text with commas, blank ones included. */
const MAX_PIECES = 10_000;

interface Items {
  readonly read: Reader;
  /** Whether an empty text means no value, as in `ids[]=`. */
  readonly emptyIsNull: boolean;
  /** Whether a problem names the index of the item, as in `links[0][url] is missing`. */
  readonly nested: boolean;
}

export function arrayReader(
  items: Items,
  { minItems = 0, maxItems = MAX_LIST_LENGTH, commaList = false }: Keywords,
): Reader {
  return (value, name, problems) => {
    const list = commaList ? splitAtCommas(listOf(value, true), maxItems) : listOf(value, false);
    if (!list) return note(problems, name, INVALID);
    const given = items.emptyIsNull ? list.filter((item) => item !== "") : list;
    if (given.length > maxItems) return note(problems, name, tooLong(maxItems, "items"));
    if (given.length < minItems) return note(problems, name, EMPTY);
    const before = problems.length;
    const read: unknown[] = [];
    for (const [index, item] of given.entries()) {
      const place = items.nested ? `${name}[${index}]` : name;
      read.push(item === null ? note(problems, place, INVALID) : items.read(item, place, problems));
      // Only the first bad item is reported: a thousand would make the response larger than the request.
      if (problems.length > before) return undefined;
    }
    return read;
  };
}

const INDEX = /^(?:0|[1-9]\d{0,5})$/;

/** A JSON list, `a[]=1`, the indexed form `a[0]=1` (whose keys an object keeps in ascending order), or a comma list. */
function listOf(value: unknown, commaList: boolean): readonly unknown[] | undefined {
  // A form has no other way to say that a list is empty than `a[]=`.
  if (Array.isArray(value)) return value.length === 1 && value[0] === "" ? [] : value;
  if (value === "") return [];
  if (typeof value === "string" && commaList) return [value];
  if (!isHash(value)) return undefined;
  const keys = Object.keys(value);
  return keys.length <= MAX_ITEMS && keys.every((key) => INDEX.test(key)) ? Object.values(value) : undefined;
}

/** The items of texts with commas, blank ones left out: those of a list may have commas too. Stops after too many. */
function splitAtCommas(values: readonly unknown[] | undefined, maxItems: number): readonly unknown[] | undefined {
  const items: unknown[] = [];
  for (const value of values ?? []) {
    if (typeof value !== "string") items.push(value);
    else items.push(...value.split(",", MAX_PIECES).flatMap((item) => item.trim() || []));
    if (items.length > maxItems) break;
  }
  return values && items;
}

/** A hash with names of the caller's choice, such as `custom_attributes[k]=v`; it has no prototype to collide with. */
export const recordReader =
  (read: Reader): Reader =>
  (value, name, problems) => {
    if (!isHash(value)) return note(problems, name, INVALID);
    const entries = Object.entries(value);
    if (entries.length > MAX_KEYS) return note(problems, name, tooLong(MAX_KEYS, "keys"));
    const hash = emptySet();
    for (const [key, item] of entries) {
      if (key.length > MAX_KEY_LENGTH) return note(problems, name, INVALID);
      const place = `${name}[${key}]`;
      hash[key] = item === null ? note(problems, place, INVALID) : read(item, place, problems);
    }
    return hash;
  };
