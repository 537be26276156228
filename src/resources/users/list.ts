import { type SelectQueryBuilder, sql } from "kysely";
import type { Static } from "typebox";
import type { Db } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { NOT_INTERNAL } from "./kinds.ts";
import type { UserFilters } from "./params.ts";
import { summaryColumns } from "./queries.ts";
import type { Search } from "./search.ts";

type Filters = Static<typeof UserFilters>;
type Users = SelectQueryBuilder<Database & { u: Database["users"] }, "u", object>;

/** Who looks: callers who are not signed in see no blocked users, and some filters are the administrators' alone. */
export type Viewer = "anonymous" | "user" | "administrator";

/** States that close an account to its owner. */
const CLOSED = ["blocked", "ldap_blocked", "banned", "blocked_pending_approval"] as const;

// The values that choose a partial index stand in the text: as parameters, a generic plan could not use the index.
const literals = (values: readonly string[]) => sql.join(values.map((value) => sql.lit(value)));
const stateIs = (states: readonly string[]) => sql<boolean>`u.state in (${literals(states)})`;
const stateIsNot = (states: readonly string[]) => sql<boolean>`u.state not in (${literals(states)})`;
const typeIs = (types: readonly string[]) => sql<boolean>`u.user_type in (${literals(types)})`;
const lit = (text: string) => sql<boolean>`${sql.raw(text)}`;

/** The users that a caller asked for, in no order yet; a search narrows them afterwards. */
export function listUsers(db: Db, filters: Filters, viewer: Viewer) {
  let query: Users = db.selectFrom("users as u");
  const only = (condition: ReturnType<typeof lit>) => (query = query.where(condition));

  if (viewer === "anonymous") only(stateIsNot(CLOSED));
  if (filters.username !== undefined) only(sql`lower(u.username) = lower(${filters.username})`);
  if (filters.public_email !== undefined) only(sql`lower(u.public_email) = lower(${filters.public_email})`);
  if (filters.active) {
    only(lit("u.state = 'active'"));
    only(typeIs(NOT_INTERNAL));
  }
  if (filters.blocked) only(stateIs(["blocked", "ldap_blocked"]));
  if (filters.external) only(lit("u.external"));
  if (filters.humans) only(lit("u.user_type = 'human'"));
  if (filters.exclude_active) only(lit("u.state <> 'active'"));
  if (filters.exclude_external) only(lit("not u.external"));
  if (filters.exclude_humans) only(lit("u.user_type <> 'human'"));
  if (filters.exclude_internal) only(typeIs(NOT_INTERNAL));
  if (filters.without_project_bots) only(lit("u.user_type <> 'project_bot'"));
  if (filters.created_after !== undefined) only(sql`u.created_at >= ${filters.created_after}`);
  if (filters.created_before !== undefined) only(sql`u.created_at <= ${filters.created_before}`);
  return (viewer === "administrator" ? forAdministrators(query, filters) : query).select(summaryColumns);
}

function forAdministrators(users: Users, filters: Filters) {
  let query = users;
  const only = (condition: ReturnType<typeof lit>) => (query = query.where(condition));
  if (filters.two_factor === "enabled") only(lit("u.two_factor_enabled"));
  if (filters.two_factor === "disabled") only(lit("not u.two_factor_enabled"));
  if (filters.admins) only(lit("u.admin"));
  if (filters.auditors) only(lit("u.auditor"));
  if (filters.skip_ldap) {
    only(sql`not exists (select from identities i where i.user_id = u.id and i.provider like 'ldap%')`);
  }
  if (filters.extern_uid !== undefined && filters.provider !== undefined) {
    only(sql`u.id in (select user_id from identities
      where provider = ${filters.provider} and lower(extern_uid) = lower(${filters.extern_uid}))`);
  }
  for (const [key, value] of Object.entries(filters.custom_attributes ?? {})) {
    only(sql`u.id in (select user_id from user_custom_attributes
      where key = ${key} and left(value, 255) = left(${value}, 255) and value = ${value})`);
  }
  return query;
}

/** Those that match exactly come first, then by name. */
export const bestMatchFirst =
  ({ text }: Search) =>
  <O>(query: SelectQueryBuilder<any, any, O>) =>
    query
      .orderBy(sql`lower(u.public_email) is not distinct from lower(${text})`, "desc")
      .orderBy(sql`lower(u.username) = lower(${text})`, "desc")
      .orderBy(sql`lower(u.name) = lower(${text})`, "desc")
      .orderBy("u.name")
      .orderBy("u.id");

export const byName = <O>(query: SelectQueryBuilder<any, any, O>) => query.orderBy("u.name").orderBy("u.id");
