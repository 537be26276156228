import { sql } from "kysely";
import type { Databases } from "#db/database.ts";
import type { TokenRow } from "./principal.ts";
import type { SessionRow } from "./sessions.ts";
import type { Logger } from "pino";

/** Records the last use of tokens and sessions: once a second, and at most every ten minutes for each. */
export interface TokenUse {
  record(row: TokenRow | SessionRow): void;
  /** Writes the pending uses, and stops. */
  stop(): Promise<void>;
}

const MAX_PENDING = 10_000;

export function recordTokenUse(db: Databases, log: Logger): TokenUse {
  let usedTokens = new Map<number, number>();
  let usedSessions = new Map<number, number>();
  let writing = Promise.resolve();
  const timer = setInterval(() => void flush(), 1000).unref();

  function flush() {
    if (usedTokens.size === 0 && usedSessions.size === 0) return writing;
    const tokens = [...usedTokens.keys()];
    const sessions = [...usedSessions.keys()];
    const users = [...new Set([...usedTokens.values(), ...usedSessions.values()])];
    usedTokens = new Map();
    usedSessions = new Map();
    return (writing = writing.then(() => write(tokens, sessions, users)));
  }

  async function write(tokens: number[], sessions: number[], users: number[]) {
    try {
      // Not over the connections of point reads, where every token lookup would queue behind it. Locked rows are skipped,
      // since waiting for many rows in no order invites a deadlock.
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
      // The next use is recorded, so only a few minutes of precision are lost.
      log.warn({ err: error }, "could not record the use of tokens and sessions");
    }
  }

  return {
    record(row) {
      if (!row.use_unrecorded || usedTokens.size + usedSessions.size >= MAX_PENDING) return;
      if ("session_id" in row) usedSessions.set(row.session_id, row.id);
      else usedTokens.set(row.token_id, row.id);
    },
    stop() {
      clearInterval(timer);
      return flush();
    },
  };
}
