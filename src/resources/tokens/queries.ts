import { type RawBuilder, sql } from "kysely";
import type { Db } from "#db/database.ts";

/** A token that was replaced may live on for a while, so it has ended only when its time has come. */
const revoked = sql<boolean>`t.revoked_at is not null and t.revoked_at <= now()`;
/** The day on which a token ends, as an index has it; one without such a day ends after all others. */
export const lastDay = sql<string>`coalesce(t.expires_at, 'infinity')`;
const today = sql`(now() at time zone 'UTC')::date`;
const expired = sql<boolean>`${lastDay} <= ${today}`;

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

/** Tokens, of one user where one is named; impersonation tokens are the administrators' own affair. */
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
  wanted ? expired : sql<boolean>`${lastDay} > ${today}`;

/** Tokens that can still be used, or those that cannot. */
export const inState = (state: "active" | "inactive"): RawBuilder<boolean> =>
  state === "active" ? sql`(${areRevoked(false)} and ${areExpired(false)})` : sql`((${revoked}) or ${expired})`;
