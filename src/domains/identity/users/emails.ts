import { type Selectable, sql, type UpdateObject } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { type Problems, refuse } from "#lib/problems.ts";

/**
 * Makes a secondary address of a user the primary one: at once if it is confirmed or the caller vouches for it,
 * otherwise as soon as it is confirmed. The old primary address becomes a secondary one. Returns the changed columns.
 */
export async function changePrimaryEmail(
  tx: Tx,
  user: Selectable<Database["users"]>,
  email: string,
  vouched: boolean,
  problems: Problems,
): Promise<UpdateObject<Database, "users">> {
  if (email === user.email.toLowerCase()) return {};
  const secondary = await tx
    .selectFrom("emails")
    .selectAll()
    .where(sql`lower(email)`, "=", email)
    .where("user_id", "=", user.id)
    .executeTakeFirst();
  if (!secondary) {
    refuse(problems, "email", "must be one of the user's own addresses; add it as a secondary address first");
    return {};
  }
  if (secondary.confirmed_at === null && !vouched) return { unconfirmed_email: secondary.email };
  await tx
    .updateTable("emails")
    .set({ email: user.email, confirmed_at: user.confirmed_at, updated_at: sql<string>`now()` })
    .where("id", "=", secondary.id)
    .execute();
  return { email, unconfirmed_email: null, confirmed_at: secondary.confirmed_at ?? sql<string>`now()` };
}

/** Locks an address until the transaction ends: two tables hold addresses, and no unique index spans both. */
export const lockAddress = (tx: Tx, email: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${`address ${email}`}, 0))`.execute(tx);
