import pg from "pg";

export interface Recorded {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Without a name PostgreSQL plans it with its values each time. */
  readonly isNamed: boolean;
  /** How many rows it returned, once it has completed. */
  rows?: number;
}

/** Statements that read, also those that write with it. */
const READS = /^\s*(select|with)\b/i;

/** The statements that the driver sent during `work`. */
export async function recordStatements(work: () => Promise<void>, kinds = READS): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (
    this: pg.Client,
    given: { text?: string; name?: string; values?: unknown[] },
    ...rest: never[]
  ) {
    const result = (query as (...args: unknown[]) => unknown).call(this, given, ...rest);
    if (typeof given.text === "string" && kinds.test(given.text)) {
      const statement: Recorded = {
        ...{ text: given.text, values: given.values ?? [] },
        isNamed: given.name !== undefined,
      };
      recorded.push(statement);
      if (result instanceof Promise)
        result.then(
          ({ rows }: pg.QueryResult) => (statement.rows = rows.length),
          () => {},
        );
    }
    return result;
  } as typeof query;
  try {
    await work();
  } finally {
    pg.Client.prototype.query = query;
  }
  return recorded;
}
