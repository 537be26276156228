import { type RawBuilder, sql } from "kysely";
import type { Db } from "#db/database.ts";

/** `revoked_at` of a rotated token lies in the future during its grace period. */
const revoked = sql<boolean>`t.revoked_at is not null and t.revoked_at <= now()`;
/** The day on which a token expires, as in an index; a token without one sorts after all others. */
export const expiryDay = sql<string>`coalesce(t.expires_at, 'infinity')`;
const today = sql`(now() at time zone 'UTC')::date`;
const expired = sql<boolean>`${expiryDay} <= ${today}`;

export const tokenColumns = [
  "t.id",
  "t.name",
  "t.description",
  "t.scopes",
  "t.user_id",
  "t.expires_at",
  "t.last_used_at",
  "t.created_at",
  revoked.as("revoked"),
  expired.as("expired"),
] as const;

/** Tokens of one user or of all; impersonation tokens, which only administrators see, only if asked for. */
export function tokensOf(db: Db, userId: number | undefined, { impersonation = false } = {}) {
  const query = db
    .selectFrom("personal_access_tokens as t")
    .select(tokenColumns)
    .where("t.impersonation", "=", sql.lit(impersonation));
  return userId === undefined ? query : query.where("t.user_id", "=", userId);
}

export type Tokens = ReturnType<typeof tokensOf>;
export type TokenRow = Awaited<ReturnType<Tokens["executeTakeFirstOrThrow"]>>;

export const areRevoked = (wanted: boolean): RawBuilder<boolean> =>
  wanted ? revoked : sql<boolean>`(t.revoked_at is null or t.revoked_at > now())`;

export const areExpired = (wanted: boolean): RawBuilder<boolean> =>
  wanted ? expired : sql<boolean>`${expiryDay} > ${today}`;

/** Active tokens can still be used. */
export const inState = (state: "active" | "inactive"): RawBuilder<boolean> =>
  state === "active" ? sql`(${areRevoked(false)} and ${areExpired(false)})` : sql`((${revoked}) or ${expired})`;
