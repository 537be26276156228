import { testApp } from "#test/support/app.ts";

const LIMIT = 5;

/** Checks that callers over the rate limit get `Retry-After`; in all other cases the limits are off. */
export async function limitProblem(databaseUrl: string): Promise<string | undefined> {
  const limited = await testApp({
    databaseUrl,
    env: { FAIRLEAD_RATE_LIMITS: "on", FAIRLEAD_RATE_LIMIT_ADDRESS: String(LIMIT) },
  });
  try {
    // Twice as many and one more, in case a minute ends in between.
    for (let asked = 0; asked <= LIMIT * 2; asked++) {
      const { status, headers } = await limited.get("/users");
      if (status === 200 && asked < LIMIT * 2) continue;
      if (status !== 429) return `status ${status} instead of 429 for a caller over the limit`;
      const seconds = Number(headers["retry-after"]);
      return Number.isInteger(seconds) && seconds >= 1 && seconds <= 60
        ? undefined
        : `Retry-After is ${headers["retry-after"]}`;
    }
    return undefined;
  } finally {
    await limited.close();
  }
}
