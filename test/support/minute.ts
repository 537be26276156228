import { setTimeout as sleep } from "node:timers/promises";
import { makeLimiter } from "#limits/rate-limits.ts";
import type { TestApp } from "./app.ts";

const MAX_ATTEMPTS = 3;
const currentMinute = () => Math.floor(Date.now() / 60_000);

/** Counts all requests to an application in one minute, however long they take. */
export function holdMinute({ services }: TestApp): void {
  const now = Date.now();
  Object.assign(services, { limiter: makeLimiter(() => now) });
}

/**
 * Runs a test of rate limits, whose counts start at 0 in every minute. If a minute ended before the test failed, it
 * runs again, so it must create its own callers.
 */
export async function withinOneMinute(work: () => Promise<void>, neededMs = 10_000): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    const left = 60_000 - (Date.now() % 60_000);
    if (left < neededMs) await sleep(left + 50);
    const minute = currentMinute();
    try {
      return await work();
    } catch (error) {
      if (currentMinute() === minute || attempts === MAX_ATTEMPTS) throw error;
    }
  }
}
