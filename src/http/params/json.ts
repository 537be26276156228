import { isUtf8 } from "node:buffer";
import { badParameter } from "#lib/refusal.ts";
import { emptySet, isForbiddenKey, isHash, type RawSet } from "./raw.ts";

export interface JsonLimits {
  readonly depth: number;
  readonly elements: number;
  /** Keys of all objects together: 60,000 that differ take the parser a quarter of a second. */
  readonly members: number;
  readonly digits: number;
  /** For data that the sender does not control: invalid text is repaired, odd keys and all digits are kept. */
  readonly scrub?: boolean;
}

export const PARAMETER_LIMITS: JsonLimits = { depth: 32, elements: 100_000, members: 20_000, digits: 1_000 };
export const INGESTION_LIMITS: JsonLimits = {
  depth: 100,
  elements: 100_000,
  members: 100_000,
  digits: 1_000,
  scrub: true,
};

const refuse = (problem: string) => badParameter(`The request body ${problem}`);

/** Limits are checked on the bytes first, because a hostile value already costs too much once it is parsed. */
export function parseJson(body: Buffer, limits: JsonLimits = PARAMETER_LIMITS): unknown {
  const { members, escapes, longNumbers } = scan(body, limits);
  if (!limits.scrub && !isUtf8(body)) throw refuse("is not valid UTF-8");
  const parseText = limits.scrub && longNumbers && body.length <= MAX_EXACT_BYTES ? parseExactly : JSON.parse;
  let value: unknown;
  try {
    value = parseText(body.toString("utf8")) as unknown;
  } catch {
    throw refuse("is not valid JSON");
  }
  if (limits.scrub) return scrub(value, escapes);
  if (countMembers(value, escapes) !== members) throw refuse("has a key twice in one object");
  return value;
}

/** What TypeScript does not know yet: the reviver gets the text of a number. */
type ParseWithSource = (
  text: string,
  reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

/** Parses JSON, with integers that would lose digits as texts: ids of other systems differ in their last ones. */
const parseExactly = (text: string): unknown =>
  (JSON.parse as ParseWithSource)(text, (_, value, { source = "" }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? source : value,
  );

/** Clients send a JSON type with an empty body on GET and DELETE. */
export function parseJsonObject(body: Buffer): RawSet {
  if (body.length === 0) return emptySet();
  const value = parseJson(body);
  if (!isHash(value)) throw refuse("is not a JSON object");
  return value;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const LETTER_U = 0x75;
const OPEN_HASH = 0x7b;
const CLOSE_HASH = 0x7d;

/** Every integer of so many digits is exact in JavaScript. */
const MAX_EXACT_DIGITS = 15;
/** Looking at every number takes ten times as long. */
const MAX_EXACT_BYTES = 256 * 1024;

const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39;

/** Counts only: whether the text is JSON at all is left to the parser. */
function scan(body: Buffer, limits: JsonLimits): { members: number; escapes: boolean; longNumbers: boolean } {
  let depth = 0;
  let elements = 0;
  let members = 0;
  let digits = 0;
  let escapes = false;
  let longNumbers = false;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!;
    if (isDigit(byte)) {
      if (++digits > limits.digits) throw refuse(`has a number of more than ${limits.digits} digits`);
      if (digits > MAX_EXACT_DIGITS) longNumbers = true;
    } else if (byte === QUOTE) {
      for (at++; at < body.length && body[at] !== QUOTE; at++) {
        if (body[at] === BACKSLASH && body[++at] === LETTER_U) escapes = true;
      }
    } else if (byte === COLON) {
      if (++members > limits.members) throw refuse(`has more than ${limits.members} keys`);
    } else if (byte === COMMA || byte === OPEN_HASH || byte === OPEN_LIST) {
      if (++elements > limits.elements) throw refuse(`has more than ${limits.elements} elements`);
      if (byte !== COMMA && ++depth > limits.depth) throw refuse(`nests deeper than ${limits.depth} levels`);
      digits = 0;
    } else if (byte === CLOSE_HASH || byte === CLOSE_LIST) {
      depth--;
    }
  }
  return { members, escapes, longNumbers };
}

const TOO_LARGE = "has a number that is too large";

/**
 * Refuses what a parameter may not hold, and counts the members: fewer than the text has means that a key came twice.
 * NUL and lone surrogates need an escape, since the text itself is valid UTF-8 and JSON has no bare control characters.
 */
function countMembers(value: unknown, escapes: boolean): number {
  if (typeof value === "string" && escapes) checkText(value);
  else if (typeof value === "number" && !Number.isFinite(value)) throw refuse(TOO_LARGE);
  else if (typeof value === "object" && value !== null) return countInside(value, escapes);
  return 0;
}

function countInside(value: object, escapes: boolean): number {
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item, escapes);
    return count;
  }
  for (const key of Object.keys(value)) {
    if (isForbiddenKey(key)) throw refuse(`has the key ${key}, which is not allowed`);
    if (escapes) checkText(key);
    count += 1 + countMembers((value as RawSet)[key], escapes);
  }
  return count;
}

function checkText(text: string): void {
  if (text.includes("\0")) throw refuse("contains a NUL character");
  if (!text.isWellFormed()) throw refuse("contains a lone surrogate");
}

const repair = (text: string) => text.toWellFormed().replaceAll("\0", "\uFFFD");

/** Repairs in place: nobody else has the value yet, and copies of large ones are expensive. */
function scrub(value: unknown, escapes: boolean): unknown {
  if (typeof value === "string") return escapes ? repair(value) : value;
  if (typeof value === "number" && !Number.isFinite(value)) throw refuse(TOO_LARGE);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) value[index] = scrub(value[index], escapes);
  } else if (isHash(value)) {
    for (const key of Object.keys(value)) scrubMember(value, key, escapes);
  }
  return value;
}

/** The parser made `__proto__` an ordinary property, and a repaired name can never be that one. */
function scrubMember(hash: RawSet, key: string, escapes: boolean): void {
  const before = hash[key];
  const after = scrub(before, escapes);
  const name = escapes ? repair(key) : key;
  if (name !== key) delete hash[key];
  if (name !== key || after !== before) hash[name] = after;
}
