import { preconditionFailed } from "#lib/refusal.ts";
import { readTime } from "./params/dates.ts";

/** The three forms of a date in HTTP begin with the name of a day. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [\w -]+ \d\d:\d\d:\d\d( \d{4}| GMT)$/;

/** Called by a handler with the time at which what it deletes last changed. */
export type UnlessModified = (changedAt: string) => void;

/**
 * Returns a function that refuses what changed after the time in `If-Unmodified-Since`. As RFC 9110 wants it, a text that
 * is no time is ignored; besides HTTP dates, ISO 8601 counts, because that is how responses write times.
 */
export function unlessModifiedSince(header: string | undefined): UnlessModified {
  const since = header === undefined ? Number.NaN : wholeSeconds(readDate(header.trim()));
  return (changedAt) => {
    if (wholeSeconds(Date.parse(changedAt)) > since) throw preconditionFailed();
  };
}

function readDate(text: string): number {
  if (!HTTP_DATE.test(text)) return Date.parse(readTime(text) ?? "");
  return Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
}

/** HTTP dates have no fractions. */
const wholeSeconds = (milliseconds: number) => Math.floor(milliseconds / 1000);
