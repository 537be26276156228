import { hash } from "node:crypto";
import { type Selectable, sql } from "kysely";
import type { Db, Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";

export type Link = Pick<Selectable<Database["mailed_links"]>, "purpose" | "user_id" | "email">;
export type Purpose = Link["purpose"];

/** How long a link works. */
export const LIVES = { confirm: "3 days", reset: "6 hours", invite: "7 days" } as const satisfies Record<
  Purpose,
  string
>;

/** Links of these purposes let their holder choose a password. */
export const PASSWORD_PURPOSES = ["reset", "invite"] as const satisfies readonly Purpose[];

const PAGES = {
  confirm: "/-/account/confirm",
  reset: "/-/account/password",
  invite: "/-/account/password",
} satisfies Record<Purpose, string>;

export const linkUrl = (site: string, purpose: Purpose, secret: string): string =>
  `${site}${PAGES[purpose]}?token=${secret}`;

/** A second request for a password reset within this time sends no second mail. */
const RESEND_PAUSE = "5 minutes";
const BATCH_SIZE = 1000;

const anyOf = (purposes: readonly Purpose[]) => sql<Purpose>`any(${purposes}::text[])`;
const digestOf = (secret: string) => hash("sha256", secret, "buffer");

/**
 * Activates a link, ends older ones for the same address and returns when it expires; undefined if it was already used
 * or replaced. A retried mail activates the same secret again.
 */
export async function startLink(
  tx: Tx,
  secret: string,
  { purpose, user_id, email }: Link,
): Promise<string | undefined> {
  await lockLinks(tx, user_id);
  const digest = digestOf(secret);
  const expires_at = sql<string>`now() + ${LIVES[purpose]}::interval`;
  const started = await tx
    .insertInto("mailed_links")
    .values({ digest, purpose, user_id, email, expires_at })
    .onConflict((clash) => clash.column("digest").doUpdateSet({ expires_at }).where("mailed_links.ended", "=", false))
    .returning("expires_at")
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
  return started?.expires_at;
}

/** Finds a link that was neither used nor replaced and has not expired. */
export const findLink = (db: Db, purposes: readonly Purpose[], secret: string): Promise<Link | undefined> =>
  db
    .selectFrom("mailed_links")
    .select(["purpose", "user_id", "email"])
    .where("digest", "=", digestOf(secret))
    .where("purpose", "=", anyOf(purposes))
    .where("ended", "=", false)
    .where("expires_at", ">", sql<string>`now()`)
    .executeTakeFirst();

/** Consumes a valid link and returns it; of two concurrent uses only one gets it. */
export async function useLink(tx: Tx, purposes: readonly Purpose[], secret: string): Promise<Link | undefined> {
  const link = await findLink(tx, purposes, secret);
  if (!link) return undefined;
  await lockLinks(tx, link.user_id);
  const { numUpdatedRows } = await tx
    .updateTable("mailed_links")
    .set({ ended: true })
    .where("digest", "=", digestOf(secret))
    .where("ended", "=", false)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n ? link : undefined;
}

/** Serializes changes to a user's links, so that the later of two new links ends the earlier. */
const lockLinks = (tx: Tx, userId: number) =>
  tx.selectFrom("users").select("id").where("id", "=", userId).forNoKeyUpdate().execute();

/** Ends all links of a user for these purposes, whatever their address. */
export const endLinks = (tx: Tx, userId: number, purposes: readonly Purpose[]) =>
  tx
    .updateTable("mailed_links")
    .set({ ended: true })
    .where("user_id", "=", userId)
    .where("purpose", "=", anyOf(purposes))
    .execute();

/** Whether a link was mailed a moment ago; repeated requests must not flood a mailbox. */
export async function isFresh(tx: Tx, { user_id, purpose, email }: Link): Promise<boolean> {
  const { rows } = await sql`
    select from mailed_links
    where user_id = ${user_id} and purpose = ${purpose} and email = ${email} and not ended
      and expires_at > now() + ${LIVES[purpose]}::interval - ${RESEND_PAUSE}::interval
    limit 1`.execute(tx);
  return rows.length > 0;
}

/** Deletes a batch of links so old that no job still retries their mail; returns whether there may be more. */
export async function removeOldLinks(tx: Tx): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from mailed_links where digest in (
      select digest from mailed_links where expires_at < now() - interval '7 days' limit ${sql.lit(BATCH_SIZE)})
  `.execute(tx);
  return Number(numAffectedRows) === BATCH_SIZE;
}
