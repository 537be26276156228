import { isUtf8 } from "node:buffer";
import { badParameter } from "#lib/refusal.ts";
import { emptySet, isForbiddenKey, isHash, type RawSet } from "./raw.ts";

export const MAX_PARAMETERS = 1_000;
export const MAX_ITEMS = 100;
const MAX_LEVELS = 4;

const notUtf8 = () => badParameter("The parameters are not percent-encoded UTF-8");
const conflict = (name: string) => badParameter(`${name.slice(0, 100)} is invalid`);
export const tooManyParameters = () => badParameter(`More than ${MAX_PARAMETERS} parameters`);

/**
 * Parses a query string or an urlencoded body, whose bytes are decoded as Latin-1, as Node does with a request target.
 * If a plain name is repeated, the last value counts.
 */
export function parseQuery(raw: string): RawSet {
  const text = asText(raw);
  if (text.includes("\0") || text.includes("%00")) throw badParameter("The parameters contain a NUL character");
  const set = emptySet();
  let count = 0;
  for (let start = 0; start < text.length;) {
    let end = text.indexOf("&", start);
    if (end === -1) end = text.length;
    const pair = text.slice(start, end);
    start = end + 1;
    const equals = pair.indexOf("=");
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    if (name === "") continue;
    if (++count > MAX_PARAMETERS) throw tooManyParameters();
    put(set, name, equals === -1 ? "" : decode(pair.slice(equals + 1)));
  }
  return set;
}

/** Some callers send UTF-8 without percent signs. */
function asText(raw: string): string {
  if (!/[^\0-\x7f]/.test(raw)) return raw;
  const bytes = Buffer.from(raw, "latin1");
  if (/[^\0-\xff]/.test(raw) || !isUtf8(bytes)) throw notUtf8();
  return bytes.toString("utf8");
}

function decode(text: string): string {
  // Several times as fast as replaceAll on a text of nothing but plus signs.
  const spaced = text.includes("+") ? text.split("+").join(" ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw notUtf8();
  }
}

/**
 * Puts a value where its name says: `a`, `h[k]`, `a[]`, `a[][k]`. An index as in `a[0][k]` stays a key of a hash,
 * because only the schema knows whether a list or a hash is meant.
 */
export function put(set: RawSet, name: string, value: unknown): void {
  // Nearly every name is plain, and this runs for every parameter of every request.
  if (!name.includes("[")) return putPlain(set, name, value);
  const path = segments(name);
  let branch: RawSet | unknown[] = set;
  for (let level = 0; level < path.length - 1; level++) {
    branch = Array.isArray(branch) ? stepIntoList(branch, path, level) : stepIntoHash(branch, path, level);
  }
  if (Array.isArray(branch)) push(branch, value);
  else putPlain(branch, path[path.length - 1]!, value);
}

function putPlain(hash: RawSet, key: string, value: unknown): void {
  checkKey(key);
  const before = hash[key];
  if (typeof before === "object" && isBranch(before)) throw conflict(key);
  hash[key] = value;
}

function checkKey(key: string): void {
  if (isForbiddenKey(key)) throw badParameter(`${key} is not allowed as a name`);
}

/** `a[b][]` is a, b and an empty segment; a name with stray brackets is just a name that no schema declares. */
function segments(name: string): string[] {
  const first = name.indexOf("[");
  if (first < 1) return [name];
  const path = [name.slice(0, first)];
  for (let open = first; open < name.length;) {
    const close = name.indexOf("]", open);
    if (name[open] !== "[" || close === -1) return [name];
    path.push(name.slice(open + 1, close));
    if (path.length > MAX_LEVELS) throw badParameter(`Parameters nest deeper than ${MAX_LEVELS} levels`);
    open = close + 1;
  }
  return path;
}

const isBranch = (value: unknown) => Array.isArray(value) || isHash(value);
const newBranch = (path: string[], level: number): RawSet | unknown[] => (path[level + 1] === "" ? [] : emptySet());
const fits = (value: unknown, path: string[], level: number): value is RawSet | unknown[] =>
  path[level + 1] === "" ? Array.isArray(value) : isHash(value);

function stepIntoHash(hash: RawSet, path: string[], level: number): RawSet | unknown[] {
  const key = path[level]!;
  checkKey(key);
  const inside = (hash[key] ??= newBranch(path, level));
  if (!fits(inside, path, level)) throw conflict(path[0]!);
  return inside;
}

/** `a[][k]=1&a[][j]=2` is one hash; the same key again starts the next one. */
function stepIntoList(list: unknown[], path: string[], level: number): RawSet | unknown[] {
  const latest = list.at(-1);
  if (fits(latest, path, level) && !isTaken(latest, path, level + 1)) return latest;
  const next = newBranch(path, level);
  push(list, next);
  return next;
}

function isTaken(start: unknown, path: string[], level: number): boolean {
  let inside = start;
  for (const key of path.slice(level)) {
    if (key === "" || !isHash(inside) || inside[key] === undefined) return false;
    inside = inside[key];
  }
  return true;
}

function push(list: unknown[], value: unknown): void {
  if (list.length === MAX_ITEMS) throw badParameter(`A list has more than ${MAX_ITEMS} items`);
  list.push(value);
}
