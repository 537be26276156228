import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { forbidden } from "#lib/refusal.ts";

/** An arbitrary number that only this takes as an advisory lock. */
const LOCK = sql.lit(7219352017);

/**
 * Refuses to demote or close an administrator unless another one remains who can sign in. The lock makes concurrent
 * callers decide one after the other, so that two administrators cannot remove each other.
 */
export async function keepAnAdministrator(tx: Tx, userId: number) {
  await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx);
  const { rows } = await sql`
    select from users
    where admin and id <> ${userId} and state = 'active' and user_type = 'human' and confirmed_at is not null
      and removal_began_at is null
    limit 1`.execute(tx);
  if (rows.length > 0) return;
  throw forbidden("the last active administrator must stay one; make another administrator first");
}

/** Makes a user an administrator, or no longer one. */
export async function setAdministrator(tx: Tx, userId: number, admin: boolean) {
  if (!admin) await keepAnAdministrator(tx, userId);
  await tx
    .updateTable("users")
    .set({ admin, updated_at: sql<string>`now()` })
    .where("id", "=", userId)
    .execute();
}
