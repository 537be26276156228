import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { Static } from "typebox";
import type { Databases, Db } from "#db/database.ts";
import { FREQUENT, SAMPLE } from "#http/hits.ts";
import { COUNTED, type PageOptions } from "#http/paging.ts";
import { containsAll, readSearch } from "#resources/users/search.ts";
import type { TokenFilters } from "./params.ts";
import { areExpired, areRevoked, inState, lastDay, tokenColumns, type Tokens, tokensOf } from "./queries.ts";

type Filters = Static<typeof TokenFilters>;
type Condition = RawBuilder<boolean>;
type AnyQuery<O> = SelectQueryBuilder<any, any, O>;

/** How far tokens that are too many to be counted may be paged by number: of those in order few may be meant. */
const FARTHEST = 1000;

/** The tokens that a caller asked for, and how they are paged. */
export interface Listing {
  readonly query: Tokens;
  readonly options: PageOptions;
}

/** One user's tokens, gathered before anything else: the planner might walk an order through everybody's. */
export function listTokensOf(db: Db, userId: number, filters: Filters): Listing {
  const own = gathered(db, [sql`t.user_id = ${userId}`]);
  return { query: narrowed(own, conditionsOf(filters)), options: sorted(filters) };
}

/**
 * Everybody's tokens. What the filters pick out is gathered and sorted, unless the order begins with enough of it to be
 * walked: those that can still be used, for one, are many, but seldom among the oldest.
 */
export async function listAllTokens({ read, readAnew }: Databases, filters: Filters): Promise<Listing> {
  const unfiltered = tokensOf(read, undefined);
  const options = { ...sorted(filters), unfiltered };
  const conditions = conditionsOf(filters);
  if (conditions.length === 0) return { query: unfiltered, options };
  const total = (await isFrequent(readAnew, filters)) ? Infinity : await countUpTo(readAnew, conditions);
  if (total < Infinity) return { query: gathered(readAnew, conditions), options: { ...options, total } };
  const walks = await isMetSoon(readAnew, filters);
  const query = walks
    ? narrowed(tokensOf(readAnew, undefined), conditionsOf(filters, true))
    : gathered(readAnew, conditions);
  return { query, options: { ...options, total, offsetLimit: FARTHEST } };
}

/** How many there are, if that can be told. */
async function countUpTo(db: Db, conditions: readonly Condition[]): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from personal_access_tokens t where ${all([sql`not t.impersonation`, ...conditions])}
      limit ${sql.lit(COUNTED + 1)}) counted`.execute(db);
  const { count = 0 } = rows[0] ?? {};
  return count > COUNTED ? Infinity : count;
}

/** Whether a search has so many hits that they are better not counted. */
async function isFrequent(db: Db, { search }: Filters): Promise<boolean> {
  if (!search?.trim()) return false;
  const { rows } = await sql`
    select from personal_access_tokens t ${SAMPLE} where ${named(search)} limit ${sql.lit(FREQUENT)}`.execute(db);
  return rows.length === FREQUENT;
}

/** How many of the first tokens in order are looked at; for a search more than the index has to be read. */
const LOOKED_AT = { search: 20_000, other: 50_000 };

/** Whether some of the first tokens in order are meant, but for those that the order itself leaves out. */
async function isMetSoon(db: Db, filters: Filters): Promise<boolean> {
  const { sort } = filters;
  const { rows } = await sql`
    select from (
      select * from personal_access_tokens t where ${all([sql`not t.impersonation`, ...boundsOf(filters, sort)])}
      order by ${sql.raw(sort ? SORTS[sort] : "t.id desc")} limit ${sql.lit(LOOKED_AT[filters.search?.trim() ? "search" : "other"])}
    ) t where ${all(conditionsOf(filters, true))} limit 10`.execute(db);
  return rows.length === 10;
}

const all = (conditions: readonly Condition[]) => sql<boolean>`${sql.join(conditions, sql` and `)}`;

// The offset is a fence that the planner cannot look behind.
function gathered(db: Db, conditions: readonly Condition[]): Tokens {
  const tokens = sql`(
    select * from personal_access_tokens t where ${all([sql`not t.impersonation`, ...conditions])} offset 0)`.as("t");
  return (db.selectFrom(tokens) as unknown as Tokens).select(tokenColumns);
}

const narrowed = (query: Tokens, conditions: readonly Condition[]): Tokens =>
  conditions.reduce((narrower, condition) => narrower.where(condition), query);

function conditionsOf(filters: Filters, walking = false): Condition[] {
  const conditions: Condition[] = [];
  if (filters.revoked !== undefined) conditions.push(areRevoked(filters.revoked));
  if (filters.state !== undefined) conditions.push(inState(filters.state));
  for (const column of COLUMNS) conditions.push(...rangeOf(filters, column));
  if (filters.search?.trim()) conditions.push(named(filters.search, walking));
  return conditions;
}

const COLUMNS = ["created", "last_used", "expires"] as const;

function rangeOf(filters: Filters, column: (typeof COLUMNS)[number]): Condition[] {
  const { [`${column}_after` as const]: after, [`${column}_before` as const]: before } = filters;
  const conditions: Condition[] = [];
  if (column === "expires") {
    if (after !== undefined) conditions.push(sql`${lastDay} >= ${after}`, sql`t.expires_at is not null`);
    if (before !== undefined) conditions.push(sql`${lastDay} < ${before}`);
    return conditions;
  }
  const time = sql.ref(`t.${column}_at`);
  if (after !== undefined) conditions.push(sql`${time} >= ${after}`);
  if (before !== undefined) conditions.push(sql`${time} <= ${before}`);
  return conditions;
}

/** Which of the conditions only say from where to where an order is walked. */
function boundsOf(filters: Filters, sort: Filters["sort"]): Condition[] {
  const column = COLUMNS.find((column) => sort?.startsWith(column));
  if (!column) return [];
  const alive = column === "expires" && filters.state === "active" ? [areExpired(false)] : [];
  return [...rangeOf(filters, column), ...alive];
}

/** Words of three letters and more match inside a name; a search without one must be the name. */
function named(search: string, walking = false): Condition {
  const { text, words } = readSearch(search, false);
  if (words.length === 0) return sql`lower(t.name) = lower(${text})`;
  // As an expression of its own it has no index of trigrams, which leaves the walk.
  return containsAll(walking ? sql`(lower(t.name) || '')` : sql`lower(t.name)`, words);
}

/** Each is an index forwards or backwards: a token never used was used before all others. */
const SORTS = {
  created_asc: "t.created_at, t.id",
  created_desc: "t.created_at desc, t.id desc",
  expires_asc: "coalesce(t.expires_at, 'infinity'), t.id",
  expires_desc: "coalesce(t.expires_at, 'infinity') desc, t.id desc",
  last_used_asc: "t.last_used_at nulls first, t.id",
  last_used_desc: "t.last_used_at desc nulls last, t.id desc",
  name_asc: "lower(t.name), t.id",
  name_desc: "lower(t.name) desc, t.id desc",
} satisfies Record<NonNullable<Filters["sort"]>, string>;

const sorted = ({ sort }: Filters): PageOptions =>
  sort === undefined ? {} : { unasked: <O>(query: AnyQuery<O>) => query.orderBy(sql.raw(SORTS[sort])) };
