import { badParameter } from "#lib/refusal.ts";
import { readTime } from "./params/dates.ts";

/** A position in an ordered list: the ordering column's value of the last row seen, and its id. */
export interface Cursor {
  readonly value: string | number;
  readonly id: number;
}

export const encodeCursor = (orderBy: string, sort: string, value: string | number, id: number): string =>
  Buffer.from(JSON.stringify([orderBy, sort, value, id])).toString("base64url");

/** Reads a cursor that came back; it must be ours, of the same order, and hold what the ordering column can. */
export function decodeCursor(text: string, orderBy: string, sort: string, column: string): Cursor {
  const parts = parse(text);
  if (!Array.isArray(parts) || parts.length !== 4) throw badCursor();
  const [wasOrderedBy, wasSorted, value, id]: unknown[] = parts;
  if (wasOrderedBy !== orderBy || wasSorted !== sort) throw badCursor();
  if (!Number.isSafeInteger(id) || !fits(column, value)) throw badCursor();
  return { value: value as string | number, id: id as number };
}

const badCursor = () => badParameter("cursor is invalid");

function parse(text: string): unknown {
  if (text.length > 8192) throw badCursor();
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    throw badCursor();
  }
}

// A value that the ordering column cannot hold would be an error of the database.
function fits(column: string, value: unknown): boolean {
  if (/\bid$/.test(column)) return Number.isSafeInteger(value);
  // What is counted is an integer of four bytes.
  if (column.endsWith("_count")) return Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31;
  if (typeof value !== "string" || value.includes("\0") || !value.isWellFormed()) return false;
  return !column.endsWith("_at") || readTime(value) === value;
}
