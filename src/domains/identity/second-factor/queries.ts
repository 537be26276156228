import { sql } from "kysely";
import type { Static } from "typebox";
import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import type { SecondFactor } from "./entity.ts";

export async function secondFactorOf(db: Db, userId: number): Promise<Static<typeof SecondFactor>> {
  const { rows } = await sql<Static<typeof SecondFactor>>`
    select u.two_factor_enabled as enabled,
      (select count(*) from recovery_codes c where c.user_id = u.id and c.used_at is null)::integer as recovery_codes_left
    from users u where u.id = ${userId}`.execute(db);
  if (!rows[0]) throw missing("User");
  return rows[0];
}
