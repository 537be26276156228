import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import type { StatusRow } from "./entity.ts";

/** The status of a user, unless it has ended by the clock of PostgreSQL. */
export const statusOf = (db: Db, userId: number): Promise<StatusRow | undefined> =>
  db
    .selectFrom("user_statuses")
    .select(["emoji", "message", "availability", "clear_status_at"])
    .where("user_id", "=", userId)
    .where(sql<boolean>`(clear_status_at is null or clear_status_at > now())`)
    .executeTakeFirst();
