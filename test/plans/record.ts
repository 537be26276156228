import pg from "pg";

export interface Recorded {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The statements that the driver was given while `work` was done. */
export async function recordStatements(work: () => Promise<void>): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (
    this: pg.Client,
    given: { text?: string; values?: unknown[] },
    ...rest: never[]
  ) {
    if (typeof given.text === "string" && /^\s*(select|with)\b/i.test(given.text)) {
      recorded.push({ text: given.text, values: given.values ?? [] });
    }
    return (query as (...args: unknown[]) => unknown).call(this, given, ...rest);
  } as typeof query;
  try {
    await work();
  } finally {
    pg.Client.prototype.query = query;
  }
  return recorded;
}
