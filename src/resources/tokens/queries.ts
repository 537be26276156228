import { sql } from "kysely";
import type { Static } from "typebox";
import type { Db } from "#db/database.ts";
import type { TokenFilters } from "./params.ts";

type Filters = Static<typeof TokenFilters>;

const expired = sql<boolean>`t.expires_at is not null and t.expires_at <= (now() at time zone 'UTC')::date`;

/** Tokens, of one user where one is named; impersonation tokens are the administrators' own affair. */
export function tokensOf(db: Db, userId: number | undefined) {
  const query = db
    .selectFrom("personal_access_tokens as t")
    .select([
      "t.id",
      "t.name",
      "t.description",
      "t.scopes",
      "t.user_id",
      "t.expires_at",
      "t.last_used_at",
      "t.created_at",
      sql<boolean>`t.revoked_at is not null`.as("revoked"),
      expired.as("expired"),
    ])
    .where("t.impersonation", "=", sql.lit(false));
  return userId === undefined ? query : query.where("t.user_id", "=", userId);
}

export type TokenRow = Awaited<ReturnType<ReturnType<typeof tokensOf>["executeTakeFirstOrThrow"]>>;

/** Narrows a list of tokens by what the caller asked for. */
export function filtered(query: ReturnType<typeof tokensOf>, filters: Filters) {
  let narrowed = query;
  const only = (condition: ReturnType<typeof sql<boolean>>) => (narrowed = narrowed.where(condition));
  if (filters.revoked !== undefined) only(sql`t.revoked_at is ${sql.raw(filters.revoked ? "not null" : "null")}`);
  if (filters.state === "active") only(sql`t.revoked_at is null and not (${expired})`);
  if (filters.state === "inactive") only(sql`(t.revoked_at is not null or (${expired}))`);
  if (filters.created_after !== undefined) only(sql`t.created_at >= ${filters.created_after}`);
  if (filters.created_before !== undefined) only(sql`t.created_at <= ${filters.created_before}`);
  if (filters.last_used_after !== undefined) only(sql`t.last_used_at >= ${filters.last_used_after}`);
  if (filters.last_used_before !== undefined) only(sql`t.last_used_at <= ${filters.last_used_before}`);
  if (filters.expires_after !== undefined) only(sql`t.expires_at >= ${filters.expires_after}`);
  if (filters.expires_before !== undefined) only(sql`t.expires_at < ${filters.expires_before}`);
  if (filters.search) {
    only(sql`t.name ilike ${`%${filters.search.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`}`);
  }
  return narrowed;
}

const SORTS = {
  created_asc: "t.created_at asc, t.id asc",
  created_desc: "t.created_at desc, t.id desc",
  expires_asc: "t.expires_at asc nulls last, t.id desc",
  expires_desc: "t.expires_at desc nulls last, t.id desc",
  last_used_asc: "t.last_used_at asc nulls last, t.id desc",
  last_used_desc: "t.last_used_at desc nulls last, t.id desc",
  name_asc: "lower(t.name) asc, t.id desc",
  name_desc: "lower(t.name) desc, t.id desc",
} satisfies Record<NonNullable<Filters["sort"]>, string>;

export const sortedBy = (sort: keyof typeof SORTS) => sql.raw(SORTS[sort]);
