import { type SelectQueryBuilder, sql } from "kysely";
import type { Static } from "typebox";
import type { Db } from "#db/database.ts";
import { hitsOf, named } from "#http/hits.ts";
import { CLOSED_STATES, NOT_INTERNAL, STATES, USER_TYPES } from "#access/user-kinds.ts";
import type { UserFilters } from "./params.ts";
import { summaryColumns } from "./queries.ts";
import { matches, type Search } from "./search.ts";

export type Filters = Static<typeof UserFilters>;

/** Who looks: callers who are not signed in see no blocked users, and some filters are the administrators' alone. */
export type Viewer = "anonymous" | "user" | "administrator";

const users = (db: Db) => db.selectFrom("users as u").select(summaryColumns);
export type Users = ReturnType<typeof users>;

/** Nearly every list begins with it, so it is built once a database. */
const built = new WeakMap<Db, Users>();

function everyoneIn(db: Db): Users {
  const known = built.get(db) ?? users(db);
  built.set(db, known);
  return known;
}

/** How many hits are named. */
const MOST_HITS = 20_000;

/** The users that a caller asked for, in no order yet. */
export interface Listing {
  readonly query: Users;
  /** The same rows without a condition. */
  readonly everyone: Users;
  /** How many there are, where that is known already; Infinity for too many to count. */
  readonly total?: number;
}

/**
 * Finds the users that a caller asked for. What may pick out few of them is looked up first, by whatever index serves
 * it best, and its hits are named: left to itself, the planner may walk a whole order to find twenty rare ones. Where
 * there are more hits than can be named, they are so common that a walk in order meets them soon.
 */
export async function listUsers(
  db: Db,
  filters: Filters,
  viewer: Viewer,
  search: Search | undefined,
): Promise<Listing> {
  const everyone = everyoneIn(db);
  if (!search && !mayPickFew(filters, viewer)) {
    const query = narrowed(everyone, filters, viewer, undefined, false);
    // Each of these is looked up among the memberships, so they are not counted, nor passed over by the ten thousand.
    const lookedUp = viewer === "administrator" && filters.without_projects === true;
    return { everyone, query, ...(lookedUp && { total: Infinity }) };
  }
  const rare = narrowed(everyone, filters, viewer, search, false).clearSelect().select("u.id");
  const { ids, many } = await hitsOf(db, [rare], MOST_HITS);
  if (many.length > 0) return { everyone, query: narrowed(everyone, filters, viewer, search, true), total: Infinity };
  const found = db.selectFrom(named("users", ids).as("u")) as unknown as Users;
  return { everyone, query: found.select(summaryColumns), total: ids.length };
}

const mayPickFew = (filters: Filters, viewer: Viewer) =>
  filters.blocked === true ||
  filters.external === true ||
  filters.exclude_active === true ||
  filters.exclude_humans === true ||
  filters.created_after !== undefined ||
  filters.created_before !== undefined ||
  (viewer === "administrator" &&
    (filters.admins === true ||
      filters.auditors === true ||
      filters.two_factor === "enabled" ||
      filters.last_activity_after !== undefined ||
      filters.last_activity_before !== undefined ||
      filters.never_signed_in === true ||
      filters.extern_uid !== undefined ||
      filters.custom_attributes !== undefined));

type Condition = ReturnType<typeof sql<boolean>>;
const lit = (text: string): Condition => sql<boolean>`${sql.raw(text)}`;

function narrowed(
  everyone: Users,
  filters: Filters,
  viewer: Viewer,
  search: Search | undefined,
  walking: boolean,
): Users {
  const conditions: Condition[] = [...stateConditions(filters, viewer), ...typeConditions(filters)];
  if (filters.username !== undefined) conditions.push(sql`lower(u.username) = lower(${filters.username})`);
  if (filters.public_email !== undefined) conditions.push(sql`lower(u.public_email) = lower(${filters.public_email})`);
  if (search) conditions.push(matches(search, walking));
  if (filters.external) conditions.push(lit("u.external"));
  if (filters.exclude_external) conditions.push(lit("not u.external"));
  if (filters.created_after !== undefined) conditions.push(sql`u.created_at >= ${filters.created_after}`);
  if (filters.created_before !== undefined) conditions.push(sql`u.created_at <= ${filters.created_before}`);
  if (viewer === "administrator") conditions.push(...administratorsConditions(filters));
  return conditions.reduce((query, condition) => query.where(condition), everyone);
}

// Filters on one column become one condition: the planner would take two for independent and expect too many rows. Its
// values stand in the text, because a generic plan could not choose a partial index by a parameter.
const isOneOf = (column: string, all: readonly string[], left: ReadonlySet<string>): Condition[] =>
  left.size === all.length
    ? []
    : [left.size === 0 ? lit("false") : lit(`u.${column} in (${[...left].map((value) => `'${value}'`).join(", ")})`)];

function stateConditions(filters: Filters, viewer: Viewer): Condition[] {
  // Said as the partial indexes say it, where nothing else narrows the states.
  if (filters.exclude_active && !filters.active && !filters.blocked && viewer !== "anonymous")
    return [lit("u.state <> 'active'")];
  let left: ReadonlySet<string> = new Set(STATES);
  if (viewer === "anonymous") left = left.difference(new Set(CLOSED_STATES));
  if (filters.active) left = left.intersection(new Set(["active"]));
  if (filters.blocked) left = left.intersection(new Set(["blocked", "ldap_blocked"]));
  if (filters.exclude_active) left = left.difference(new Set(["active"]));
  return isOneOf("state", STATES, left);
}

function typeConditions(filters: Filters): Condition[] {
  if (
    filters.exclude_humans &&
    !filters.active &&
    !filters.humans &&
    !filters.exclude_internal &&
    !filters.without_project_bots
  ) {
    return [lit("u.user_type <> 'human'")];
  }
  let left: ReadonlySet<string> = new Set(USER_TYPES);
  if (filters.active || filters.exclude_internal) left = left.intersection(new Set(NOT_INTERNAL));
  if (filters.humans) left = left.intersection(new Set(["human"]));
  if (filters.exclude_humans) left = left.difference(new Set(["human"]));
  if (filters.without_project_bots) left = left.difference(new Set(["project_bot"]));
  return isOneOf("user_type", USER_TYPES, left);
}

function administratorsConditions(filters: Filters): Condition[] {
  const conditions: Condition[] = [];
  if (filters.two_factor === "enabled") conditions.push(lit("u.two_factor_enabled"));
  if (filters.two_factor === "disabled") conditions.push(lit("not u.two_factor_enabled"));
  if (filters.last_activity_after !== undefined) {
    conditions.push(sql`u.last_activity_on >= ${filters.last_activity_after}`);
  }
  if (filters.last_activity_before !== undefined) {
    conditions.push(sql`u.last_activity_on < ${filters.last_activity_before}`);
  }
  if (filters.never_signed_in) conditions.push(lit("u.sign_in_count = 0"));
  if (filters.admins) conditions.push(lit("u.admin"));
  if (filters.auditors) conditions.push(lit("u.auditor"));
  if (filters.without_projects) {
    // One look into an index a user: joined, all memberships of all users would be read first.
    conditions.push(sql`(select m.id from members m
      where m.user_id = u.id and m.project_id is not null limit 1) is null`);
  }
  if (filters.skip_ldap) {
    conditions.push(sql`not exists (select from identities i where i.user_id = u.id and i.provider like 'ldap%')`);
  }
  if (filters.extern_uid !== undefined && filters.provider !== undefined) {
    conditions.push(sql`u.id in (select user_id from identities
      where provider = ${filters.provider} and lower(extern_uid) = lower(${filters.extern_uid}))`);
  }
  for (const [key, value] of Object.entries(filters.custom_attributes ?? {})) {
    conditions.push(sql`u.id in (select user_id from user_custom_attributes
      where key = ${key} and left(value, 255) = left(${value}, 255) and value = ${value})`);
  }
  return conditions;
}

type AnyQuery<O> = SelectQueryBuilder<any, any, O>;

/** Those that match exactly come first, then by name. */
export const bestMatchFirst =
  ({ text }: Search) =>
  <O>(query: AnyQuery<O>) =>
    (text.includes("@") ? query.orderBy(sql`lower(u.public_email) is not distinct from lower(${text})`, "desc") : query)
      .orderBy(sql`lower(u.username) = lower(${text})`, "desc")
      .orderBy(sql`lower(u.name) = lower(${text})`, "desc")
      .orderBy("u.name")
      .orderBy("u.id");

export const byName = <O>(query: AnyQuery<O>) => query.orderBy("u.name").orderBy("u.id");
