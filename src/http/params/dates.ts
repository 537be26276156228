const DAY = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIME =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,12}))?)?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?)?$/;

/** Midnight UTC of a real day of the years 1 to 9999, as milliseconds. */
function midnight(text: string): number | undefined {
  const [, year, month, day] = DAY.exec(text) ?? [];
  if (year === undefined || year === "0000") return undefined;
  // Date.UTC takes the years 0 to 99 for 1900 to 1999, which setUTCFullYear does not.
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day) ? date.getTime() : undefined;
}

/** `YYYY-MM-DD` as it is, or undefined if that is not a day. */
export const readDay = (text: string) => (midnight(text) === undefined ? undefined : text);

/** Any ISO 8601 time as UTC with milliseconds; a day alone is its midnight, a time without an offset is UTC. */
export function readTime(text: string): string | undefined {
  const found = TIME.exec(text);
  if (!found) return undefined;
  const [, day, hour = "0", minute = "0", second = "0", fraction = "", , sign, awayHours = "0", awayMinutes = "0"] =
    found;
  const start = midnight(day!);
  if (start === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(awayHours) > 23 || Number(awayMinutes) > 59) return undefined;
  const away = (Number(awayHours) * 60 + Number(awayMinutes)) * (sign === "-" ? -1 : 1);
  const seconds = Number(hour) * 3_600 + (Number(minute) - away) * 60 + Number(second);
  const iso = new Date(start + seconds * 1_000 + Number(fraction.slice(0, 3).padEnd(3, "0"))).toISOString();
  // An offset can move a time out of the years 1 to 9999; ISO then has a sign or year 0.
  return /^(?!0000)\d{4}-/.test(iso) ? iso : undefined;
}
