import { sql } from "kysely";
import type { Databases } from "#db/database.ts";
import type { CallerRow } from "./actor.ts";
import type { SessionRow } from "./sessions.ts";
import type { Logger } from "pino";

/** Remembers which tokens and sessions were used and writes it down once a second, at most every ten minutes for one. */
export interface TokenUse {
  note(row: CallerRow | SessionRow): void;
  /** Writes what is noted and stops. */
  stop(): Promise<void>;
}

const MOST_NOTED = 10_000;

export function recordTokenUse(db: Databases, log: Logger): TokenUse {
  let noted = new Map<number, number>();
  let seen = new Map<number, number>();
  let writing = Promise.resolve();
  const timer = setInterval(() => void flush(), 1000).unref();

  function flush() {
    if (noted.size === 0 && seen.size === 0) return writing;
    const tokens = [...noted.keys()];
    const sessions = [...seen.keys()];
    const users = [...new Set([...noted.values(), ...seen.values()])];
    noted = new Map();
    seen = new Map();
    return (writing = writing.then(() => write(tokens, sessions, users)));
  }

  async function write(tokens: number[], sessions: number[], users: number[]) {
    try {
      // Not over the connections of point reads, where everybody's token would wait behind it. What somebody else holds
      // is left out: whoever waits for many rows in no order waits for a deadlock.
      if (tokens.length > 0)
        await sql`
          update personal_access_tokens set last_used_at = now() where id in (
            select id from personal_access_tokens
            where id = any(${tokens}::bigint[])
              and (last_used_at is null or last_used_at < now() - interval '10 minutes')
            for update skip locked)`.execute(db.write);
      if (sessions.length > 0)
        await sql`
          update sessions set last_seen_at = now() where id in (
            select id from sessions
            where id = any(${sessions}::bigint[]) and last_seen_at < now() - interval '10 minutes'
            for update skip locked)`.execute(db.write);
      await sql`
        update users set last_activity_on = (now() at time zone 'UTC')::date where id in (
          select id from users
          where id = any(${users}::bigint[])
            and last_activity_on is distinct from (now() at time zone 'UTC')::date
          for update skip locked)`.execute(db.write);
    } catch (error) {
      // The next use notes it again, so nothing is lost but a few minutes of precision.
      log.warn({ err: error }, "could not record the use of tokens and sessions");
    }
  }

  return {
    note(row) {
      if (!row.use_unrecorded || noted.size + seen.size >= MOST_NOTED) return;
      if ("session_id" in row) seen.set(row.session_id, row.id);
      else noted.set(row.token_id, row.id);
    },
    stop() {
      clearInterval(timer);
      return flush();
    },
  };
}
