import { makeLimiter } from "#limits/rate-limits.ts";
import type { TestApp } from "./app.ts";

/** Counts all requests to an application in the minute of one moment, however long they take, and returns the moment. */
export function holdMinute({ services }: TestApp, now = Date.now()): number {
  Object.assign(services, { limiter: makeLimiter(() => now) });
  return now;
}
