import { sql } from "kysely";
import { SESSION_LIVES } from "#access/sessions.ts";
import type { Db } from "#db/database.ts";

/** The sessions of a user that go on. */
export const sessionsOf = (db: Db, userId: number) =>
  db
    .selectFrom("sessions as s")
    .select(["s.id", "s.created_at", "s.last_seen_at", "s.ip_address", "s.user_agent"])
    .where("s.user_id", "=", userId)
    .where(sql<boolean>`${sql.raw(SESSION_LIVES)}`);

export type SessionRow = Awaited<ReturnType<ReturnType<typeof sessionsOf>["executeTakeFirstOrThrow"]>>;
