import { hash } from "node:crypto";
import { type Selectable, sql } from "kysely";
import type { Db, Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";

export type Link = Pick<Selectable<Database["mailed_links"]>, "purpose" | "user_id" | "email">;
export type Purpose = Link["purpose"];

/** How long a link works. */
export const LIVES = { confirm: "3 days", reset: "6 hours" } as const satisfies Record<Purpose, string>;

/** Asked for again within this time, a password is not mailed about again. */
const PAUSE = "5 minutes";
const MOST_AT_ONCE = 1000;

const digestOf = (secret: string) => hash("sha256", secret, "buffer");

/**
 * Lets a secret count from now on in place of older ones for the same address; false where it was used or replaced
 * already. The same mail may be tried twice, so the same secret may come twice.
 */
export async function startLink(tx: Tx, secret: string, { purpose, user_id, email }: Link): Promise<boolean> {
  await holdLinks(tx, user_id);
  const digest = digestOf(secret);
  const expires_at = sql<string>`now() + ${LIVES[purpose]}::interval`;
  const started = await tx
    .insertInto("mailed_links")
    .values({ digest, purpose, user_id, email, expires_at })
    .onConflict((clash) => clash.column("digest").doUpdateSet({ expires_at }).where("mailed_links.ended", "=", false))
    .returning("digest")
    .executeTakeFirst();
  if (started) {
    await tx
      .updateTable("mailed_links")
      .set({ ended: true })
      .where("user_id", "=", user_id)
      .where("purpose", "=", purpose)
      .where("email", "=", email)
      .where("digest", "!=", digest)
      .execute();
  }
  return started !== undefined;
}

/** What a link stands for, while it works. */
export const findLink = (db: Db, purpose: Purpose, secret: string): Promise<Link | undefined> =>
  db
    .selectFrom("mailed_links")
    .select(["purpose", "user_id", "email"])
    .where("digest", "=", digestOf(secret))
    .where("purpose", "=", purpose)
    .where("ended", "=", false)
    .where("expires_at", ">", sql<string>`now()`)
    .executeTakeFirst();

/** Ends a link that works and tells what it stands for; of two who use it at once, one is told. */
export async function useLink(tx: Tx, purpose: Purpose, secret: string): Promise<Link | undefined> {
  const link = await findLink(tx, purpose, secret);
  if (!link) return undefined;
  await holdLinks(tx, link.user_id);
  const { numUpdatedRows } = await tx
    .updateTable("mailed_links")
    .set({ ended: true })
    .where("digest", "=", digestOf(secret))
    .where("ended", "=", false)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n ? link : undefined;
}

/** The links of a user are changed by one at a time, so that of two new ones the later ends the other. */
const holdLinks = (tx: Tx, userId: number) =>
  tx.selectFrom("users").select("id").where("id", "=", userId).forNoKeyUpdate().execute();

/** Ends all links of a user for a purpose, to whichever address. */
export const endLinks = (tx: Tx, { user_id, purpose }: Pick<Link, "user_id" | "purpose">) =>
  tx
    .updateTable("mailed_links")
    .set({ ended: true })
    .where("user_id", "=", user_id)
    .where("purpose", "=", purpose)
    .execute();

/** Whether a link was mailed a moment ago, so that nobody's mailbox can be filled by asking for more. */
export async function isFresh(tx: Tx, { user_id, purpose, email }: Link): Promise<boolean> {
  const { rows } = await sql`
    select from mailed_links
    where user_id = ${user_id} and purpose = ${purpose} and email = ${email} and not ended
      and expires_at > now() + ${LIVES[purpose]}::interval - ${PAUSE}::interval
    limit 1`.execute(tx);
  return rows.length > 0;
}

/** Takes away some that ended long ago, when no job tries to send them any more; says whether there may be others. */
export async function removeOldLinks(tx: Tx): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from mailed_links where digest in (
      select digest from mailed_links where expires_at < now() - interval '7 days' limit ${sql.lit(MOST_AT_ONCE)})
  `.execute(tx);
  return Number(numAffectedRows) === MOST_AT_ONCE;
}
