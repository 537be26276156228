import { sql } from "kysely";
import { SESSION_IS_ACTIVE } from "#access/sessions.ts";
import type { Db } from "#db/database.ts";

/** The active sessions of a user. */
export const sessionsOf = (db: Db, userId: number) =>
  db
    .selectFrom("sessions as s")
    .select(["s.id", "s.created_at", "s.last_seen_at", "s.ip_address", "s.user_agent"])
    .where("s.user_id", "=", userId)
    .where(sql<boolean>`${sql.raw(SESSION_IS_ACTIVE)}`);

export type SessionRow = Awaited<ReturnType<ReturnType<typeof sessionsOf>["executeTakeFirstOrThrow"]>>;
