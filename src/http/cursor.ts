import type { Cursor, Order } from "#db/lists/order.ts";
import { badParameter } from "#lib/refusal.ts";
import { readTime } from "./params/dates.ts";

export const encodeCursor = (orderBy: string, sort: string, { value, id }: Cursor): string =>
  Buffer.from(JSON.stringify([orderBy, sort, value, id])).toString("base64url");

/** Reads a cursor that came back; it must be ours, of the same order, and hold what the ordering column can. */
export function decodeCursor(text: string, orderBy: string, sort: string, order: Order): Cursor {
  const parts = parse(text);
  if (!Array.isArray(parts) || parts.length !== 4) throw badCursor();
  const [wasOrderedBy, wasSorted, value, id]: unknown[] = parts;
  if (wasOrderedBy !== orderBy || wasSorted !== sort) throw badCursor();
  if (!Number.isSafeInteger(id) || !(value === null ? order.nulls : fits(order, value))) throw badCursor();
  return { value: value as Cursor["value"], id: id as number };
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

/** Whether the column can hold a value; any other would be an error of the database. */
function fits({ type }: Order, value: unknown): boolean {
  if (type === "bigint") return Number.isSafeInteger(value);
  if (type === "integer") return Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31;
  if (type === "real") return Number.isFinite(value);
  if (typeof value !== "string" || value.includes("\0") || !value.isWellFormed()) return false;
  if (type === "date") return readTime(`${value}T00:00:00.000Z`)?.slice(0, 10) === value;
  return type === "text" || readTime(value) === value;
}
