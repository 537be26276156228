import { sql } from "kysely";
import type { Static } from "typebox";
import type { Filter, Listing } from "#db/lists/list-page.ts";
import { type Condition, order } from "#db/lists/order.ts";
import { reachesProject } from "#access/levels.ts";
import { CLOSED_STATES, NOT_INTERNAL, STATES, USER_TYPES } from "#access/user-kinds.ts";
import type { UserFilters } from "./params.ts";
import { matches, type Search } from "./search.ts";

export type Filters = Static<typeof UserFilters>;

/** Callers who are not signed in see no blocked users, and some filters are for administrators only. */
export type Viewer = "anonymous" | "user" | "administrator";

const byName = order("u.name", "text");

export const ORDERS = {
  id: order("u.id", "bigint"),
  name: byName,
  username: order("u.username", "text"),
  created_at: order("u.created_at", "timestamptz"),
  updated_at: order("u.updated_at", "timestamptz"),
};

export const listUsers = (filters: Filters, viewer: Viewer, search: Search | undefined): Listing => ({
  from: "users as u",
  filters: [
    stateFilter(filters, viewer),
    typeFilter(filters),
    filters.username !== undefined && sql`lower(u.username) = lower(${filters.username})`,
    filters.public_email !== undefined && sql`lower(u.public_email) = lower(${filters.public_email})`,
    search && matches(search),
    filters.external && lit("u.external"),
    filters.exclude_external && lit("not u.external"),
    filters.created_after !== undefined && sql`u.created_at >= ${filters.created_after}`,
    filters.created_before !== undefined && sql`u.created_at <= ${filters.created_before}`,
    ...(viewer === "administrator" ? adminFilters(filters) : []),
  ],
  costly: [viewer === "administrator" && filters.without_projects && isWithoutProjects],
  defaultOrder: search && { order: order(matchRank(search), "text", { scannedBy: byName }), sort: "asc" },
});

const lit = (text: string): Condition => sql<boolean>`${sql.raw(text)}`;

// Filters on one column become one condition: the planner would take two for independent and misjudge their rows. The
// values are literals, because a generic plan cannot choose a partial index by a parameter.
const isOneOf = (column: string, all: readonly string[], allowed: ReadonlySet<string>): Condition | false =>
  allowed.size < all.length &&
  (allowed.size === 0 ? lit("false") : lit(`u.${column} in (${[...allowed].map((value) => `'${value}'`).join(", ")})`));

function stateFilter(filters: Filters, viewer: Viewer): Condition | false {
  // Worded like the condition of the partial indexes, if no other filter narrows the states.
  if (filters.exclude_active && !filters.active && !filters.blocked && viewer !== "anonymous")
    return lit("u.state <> 'active'");
  let allowed: ReadonlySet<string> = new Set(STATES);
  if (viewer === "anonymous") allowed = allowed.difference(new Set(CLOSED_STATES));
  if (filters.active) allowed = allowed.intersection(new Set(["active"]));
  if (filters.blocked) allowed = allowed.intersection(new Set(["blocked", "ldap_blocked"]));
  if (filters.exclude_active) allowed = allowed.difference(new Set(["active"]));
  return isOneOf("state", STATES, allowed);
}

function typeFilter(filters: Filters): Condition | false {
  if (
    filters.exclude_humans &&
    !filters.active &&
    !filters.humans &&
    !filters.exclude_internal &&
    !filters.without_project_bots
  ) {
    return lit("u.user_type <> 'human'");
  }
  let allowed: ReadonlySet<string> = new Set(USER_TYPES);
  if (filters.active || filters.exclude_internal) allowed = allowed.intersection(new Set(NOT_INTERNAL));
  if (filters.humans) allowed = allowed.intersection(new Set(["human"]));
  if (filters.exclude_humans) allowed = allowed.difference(new Set(["human"]));
  if (filters.without_project_bots) allowed = allowed.difference(new Set(["project_bot"]));
  return isOneOf("user_type", USER_TYPES, allowed);
}

const adminFilters = (filters: Filters): Filter[] => [
  filters.two_factor === "enabled" && lit("u.two_factor_enabled"),
  filters.two_factor === "disabled" && lit("not u.two_factor_enabled"),
  filters.last_activity_after !== undefined && sql`u.last_activity_on >= ${filters.last_activity_after}`,
  filters.last_activity_before !== undefined && sql`u.last_activity_on < ${filters.last_activity_before}`,
  filters.never_signed_in && lit("u.sign_in_count = 0"),
  filters.admins && lit("u.admin"),
  filters.auditors && lit("u.auditor"),
  filters.skip_ldap && lit("not exists (select from identities i where i.user_id = u.id and i.provider like 'ldap%')"),
  filters.extern_uid !== undefined &&
    filters.provider !== undefined &&
    sql`u.id in (select user_id from identities
      where provider = ${filters.provider} and lower(extern_uid) = lower(${filters.extern_uid}))`,
  ...Object.entries(filters.custom_attributes ?? {}).map(
    ([key, value]) => sql<boolean>`u.id in (select user_id from user_custom_attributes
      where key = ${key} and left(value, 255) = left(${value}, 255) and value = ${value})`,
  ),
];

const isWithoutProjects = lit(`not ${reachesProject("u.id")}`);

/** Sorts exact matches first, then by name. */
const matchRank = ({ text }: Search) => sql`case
  when lower(u.public_email) = lower(${text}) then '0'
  when lower(u.username) = lower(${text}) then '1'
  when lower(u.name) = lower(${text}) then '2'
  else '3' end || u.name`;
