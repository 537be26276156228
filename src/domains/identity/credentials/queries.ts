import { sql } from "kysely";
import type { Db } from "#db/database.ts";

const MAX_KEYS = 100;

/** The ids of the first deploy keys that a user added: keys of projects, which keep working if the user is blocked. */
export async function deployKeysAddedBy(db: Db, userId: number): Promise<number[]> {
  const rows = await db
    .selectFrom("keys as k")
    .select("k.id")
    .where("k.kind", "=", sql.lit("deploy"))
    .where("k.user_id", "=", userId)
    .orderBy("k.id")
    .limit(sql.lit(MAX_KEYS))
    .execute();
  return rows.map(({ id }) => id);
}
