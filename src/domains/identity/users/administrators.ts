import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { forbidden } from "#lib/refusal.ts";

/** An arbitrary advisory lock number that nothing else uses. */
const LOCK = sql.lit(7219352017);

/**
 * Refuses to demote or close an administrator unless another one remains who can sign in. The lock makes concurrent
 * callers decide one after the other, so that two administrators cannot remove each other.
 */
export async function refuseLastAdministrator(tx: Tx, userId: number) {
  await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx);
  const { rows } = await sql`
    select from users
    where admin and id <> ${userId} and state = 'active' and user_type = 'human' and confirmed_at is not null
      and removal_began_at is null
    limit 1`.execute(tx);
  if (rows.length > 0) return;
  throw forbidden("the last active administrator must stay one; make another administrator first");
}

/** Grants or revokes the rights of an administrator. */
export async function setAdministrator(tx: Tx, userId: number, admin: boolean) {
  if (!admin) await refuseLastAdministrator(tx, userId);
  await tx
    .updateTable("users")
    .set({ admin, updated_at: sql<string>`now()` })
    .where("id", "=", userId)
    .execute();
}
