import { sql } from "kysely";
import type { Databases } from "#db/database.ts";
import type { CallerRow } from "./actor.ts";
import type { Logger } from "pino";

/** Remembers which tokens were used and writes it down once a second, at most every ten minutes for one token. */
export interface TokenUse {
  note(row: CallerRow): void;
  /** Writes what is noted and stops. */
  stop(): Promise<void>;
}

const MOST_NOTED = 10_000;

export function recordTokenUse(db: Databases, log: Logger): TokenUse {
  let noted = new Map<number, number>();
  let writing = Promise.resolve();
  const timer = setInterval(() => void flush(), 1000).unref();

  function flush() {
    if (noted.size === 0) return writing;
    const tokens = [...noted.keys()];
    const users = [...new Set(noted.values())];
    noted = new Map();
    return (writing = writing.then(() => write(tokens, users)));
  }

  async function write(tokens: number[], users: number[]) {
    try {
      // Not over the connections of point reads, where everybody's token would wait behind it.
      await sql`
        update personal_access_tokens set last_used_at = now()
        where id = any(${tokens}::bigint[]) and (last_used_at is null or last_used_at < now() - interval '10 minutes')
      `.execute(db.write);
      await sql`
        update users set last_activity_on = (now() at time zone 'UTC')::date
        where id = any(${users}::bigint[]) and last_activity_on is distinct from (now() at time zone 'UTC')::date
      `.execute(db.write);
    } catch (error) {
      // The next use notes it again, so nothing is lost but a few minutes of precision.
      log.warn({ err: error }, "could not record the use of tokens");
    }
  }

  return {
    note(row) {
      if (row.use_unrecorded && noted.size < MOST_NOTED) noted.set(row.token_id, row.id);
    },
    stop() {
      clearInterval(timer);
      return flush();
    },
  };
}
