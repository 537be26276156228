import type { TLiteralValue } from "typebox";
import { noSuchRoute } from "#http/errors.ts";
import { missing } from "#lib/refusal.ts";
import { readDay, readTime } from "./dates.ts";
import { UploadedFile } from "./raw.ts";

/** Converts one value to its type, or notes the problem with it; it never gets null or undefined. */
export type Reader = (value: unknown, name: string, problems: string[]) => unknown;

/** The keywords of a schema that restrict a value; they are not in TypeBox's types. */
export interface Keywords {
  readonly default?: unknown;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  /** Values with a message of their own, as `per_page=0` has. */
  readonly not?: { readonly enum: readonly number[] };
  readonly minItems?: number;
  readonly maxItems?: number;
  /** A list that may also come as `a,b`. */
  readonly commaList?: boolean;
  /** A text in which control characters become a space. */
  readonly "x-single-line"?: boolean;
  /** A number in a path that does not match without digits alone. */
  readonly "x-digits-only"?: boolean;
}

export const INVALID = "is invalid";
export const EMPTY = "is empty";
const NOT_LISTED = "does not have a valid value";
const NOT_ALLOWED = "has a value not allowed";

/** The limit of a text whose schema has none: as much as a whole body. */
const MAX_LENGTH = 1_048_576;

/** No name or title may be longer. */
const MAX_LINE_LENGTH = 4096;
const CONTROLS = /[\p{Cc}\u2028\u2029]+/gu;

export const tooLong = (most: number, of: "characters" | "items" | "keys") => `is too long (maximum is ${most} ${of})`;

export const note = (problems: string[], name: string, problem: string) => void problems.push(`${name} ${problem}`);

export function stringReader(keywords: Keywords): Reader {
  const { format, minLength = 0, maxLength = MAX_LENGTH, "x-single-line": singleLine = false } = keywords;
  if (format === "date") return formatReader(readDay);
  if (format === "date-time") return formatReader(readTime);
  return (value, name, problems) => {
    const given = textOf(value);
    if (given === undefined) return note(problems, name, INVALID);
    const text = singleLine && given.length <= MAX_LINE_LENGTH ? given.replaceAll(CONTROLS, " ").trim() : given;
    if (minLength > 0 && text.trim() === "") return note(problems, name, EMPTY);
    if (text.length < minLength) return note(problems, name, "is too short");
    if (text.length > maxLength && isLongerThan(maxLength, text))
      return note(problems, name, tooLong(maxLength, "characters"));
    return text;
  };
}

/** Untyped clients send `"7"` for 7, and 7 for `"7"`; an integer beyond 2^53 has already lost digits. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number" || (Number.isInteger(value) && !Number.isSafeInteger(value))) return undefined;
  return String(value);
}

/** Lengths are in characters, some of which take two code units of a string. */
const isLongerThan = (limit: number, text: string) => text.length > limit * 2 || [...text].length > limit;

const formatReader =
  (read: (text: string) => string | undefined): Reader =>
  (value, name, problems) =>
    (typeof value === "string" ? read(value) : undefined) ?? note(problems, name, INVALID);

const INTEGER = /^-?\d+$/;
const DECIMAL = /^-?\d+(?:\.\d+)?$/;

function numberOf(value: unknown, pattern: RegExp): number {
  if (typeof value === "number") return value;
  // Adding zero makes -0 an ordinary 0.
  return typeof value === "string" && pattern.test(value) ? Number(value) + 0 : NaN;
}

function rangeProblem(value: number, { minimum = -Infinity, maximum = Infinity, not }: Keywords) {
  if (not?.enum.includes(value)) return NOT_ALLOWED;
  return value < minimum || value > maximum ? NOT_LISTED : undefined;
}

export const integerReader =
  (schema: Keywords): Reader =>
  (value, name, problems) => {
    const number = numberOf(value, INTEGER);
    const problem = Number.isSafeInteger(number) ? rangeProblem(number, schema) : INVALID;
    return problem ? note(problems, name, problem) : number;
  };

/**
 * In a path, a number that no row can have is 404. A text that is no number is 400, except in paths that exist only with
 * digits.
 */
export const pathNumberReader =
  (read: Reader, { "x-digits-only": digitsOnly }: Keywords): Reader =>
  (value, name, problems) => {
    const before = problems.length;
    const number = read(value, name, problems);
    if (problems.length === before || typeof value !== "string") return number;
    if (digitsOnly && !/^\d+$/.test(value)) throw noSuchRoute();
    if (INTEGER.test(value)) throw missing();
    return number;
  };

/** Refuses NUL, which PostgreSQL cannot store. Queries and bodies are checked when parsed; a path arrives decoded. */
export const pathTextReader =
  (read: Reader): Reader =>
  (value, name, problems) =>
    typeof value === "string" && value.includes("\0") ? note(problems, name, INVALID) : read(value, name, problems);

export const numberReader =
  (schema: Keywords): Reader =>
  (value, name, problems) => {
    const number = numberOf(value, DECIMAL);
    const problem = Number.isFinite(number) ? rangeProblem(number, schema) : INVALID;
    return problem ? note(problems, name, problem) : number;
  };

const BOOLEANS = new Map([
  ...["true", "t", "yes", "on", "1"].map((word) => [word, true] as const),
  ...["false", "f", "no", "off", "0"].map((word) => [word, false] as const),
]);

export const readBoolean: Reader = (value, name, problems) => {
  if (typeof value === "boolean") return value;
  const word = typeof value === "string" || typeof value === "number" ? String(value).toLowerCase() : "";
  return BOOLEANS.get(word) ?? note(problems, name, INVALID);
};

export function enumReader(values: readonly TLiteralValue[]): Reader {
  const byText = new Map(values.map((value) => [String(value), value]));
  return (value, name, problems) => {
    const text = textOf(value);
    if (text === undefined) return note(problems, name, INVALID);
    return byText.get(text) ?? note(problems, name, NOT_LISTED);
  };
}

export const readFile: Reader = (value, name, problems) =>
  value instanceof UploadedFile ? value : note(problems, name, INVALID);
