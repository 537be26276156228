import { type Selectable, sql, type UpdateObject } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { type Problems, refuse } from "#lib/problems.ts";

/**
 * Moves a user's primary address to one of their secondary ones: at once if that is confirmed or the caller vouches for
 * it, else when it is. The old primary address stays theirs as a secondary one.
 */
export async function emailChange(
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
    .set({ email: user.email, confirmed_at: user.confirmed_at })
    .where("id", "=", secondary.id)
    .execute();
  return { email, unconfirmed_email: null, confirmed_at: secondary.confirmed_at ?? sql<string>`now()` };
}

/** Keeps others from taking an address until the transaction ends: two tables hold addresses, and no index spans both. */
export const holdAddress = (tx: Tx, email: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${`address ${email}`}, 0))`.execute(tx);
