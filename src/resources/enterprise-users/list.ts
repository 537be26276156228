import { type SelectQueryBuilder, sql } from "kysely";
import type { Static } from "typebox";
import type { Db } from "#db/database.ts";
import { FARTHEST, hitsOf } from "#http/hits.ts";
import { COUNTED, type PageOptions } from "#http/paging.ts";
import type { EnterpriseUserFilters } from "./params.ts";
import type { Condition, People } from "./people.ts";
import { searchFor } from "./search.ts";

type Filters = Omit<Static<typeof EnterpriseUserFilters>, "id">;

interface Pages {
  readonly query: SelectQueryBuilder<any, any, { id: number }>;
  readonly options: PageOptions;
}

/** So many of the newest people tell whether a search finds every tenth of them. */
const NEWEST = 1000;

/** How many are counted where a search finds so many: each takes ten others that are looked at. */
const MOST_COMMON = 2000;

/**
 * How to page through those of some people whom a caller asked for. Whatever a filter leaves may be few among half a
 * million, so it is looked up first. How it is best found hangs on what is asked for: `db` plans every statement anew.
 */
export async function pagesOf(db: Db, people: People, filters: Filters): Promise<Pages> {
  const query = db.selectFrom("users as u").select("u.id");
  const conditions = conditionsOf(filters);
  const search = filters.search?.trim() ? searchFor(filters.search) : undefined;
  const parts = people(conditions);
  if (conditions.length === 0 && !search) return { query, options: { parts } };
  const { lookedUp, walked, most } = search
    ? await searched(db, people, conditions, search)
    : { lookedUp: parts, walked: parts, most: COUNTED };
  const { ids, many } = await hitsOf(db, lookedUp, most);
  const few = db.selectFrom(sql<{ id: number }>`(select unnest(${`{${ids.join(",")}}`}::bigint[]) as id)`.as("u"));
  if (many.length === 0) return { query, options: { parts: [few], total: ids.length } };
  const common = walked.filter((_, at) => many.includes(at));
  return { query, options: { parts: [few, ...common], total: Infinity, offsetLimit: FARTHEST } };
}

/** Those whom a search finds, to be looked up and to be walked; what is common is not looked up by its trigrams. */
async function searched(
  db: Db,
  people: People,
  conditions: readonly Condition[],
  search: ReturnType<typeof searchFor>,
) {
  const walked = people([...conditions, search("on the way")]);
  const newest = people(conditions).map((part) => {
    const some = part.orderBy("u.id", "desc").limit(sql.lit(NEWEST));
    return db.selectFrom(some.as("u")).select("u.id").where(search("on the way"));
  });
  const { many: common } = await hitsOf(db, newest, NEWEST / 10);
  const rare = people([...conditions, search("by trigrams")]);
  const lookedUp = rare.map((part, at) => (common.includes(at) && walked[at]) || part);
  return { walked, lookedUp, most: common.length > 0 ? MOST_COMMON : COUNTED };
}

/** Literals, where there are few values: they choose a partial index. */
function conditionsOf(filters: Filters): Condition[] {
  const conditions: Condition[] = [];
  if (filters.username !== undefined) conditions.push(sql`lower(u.username) = lower(${filters.username})`);
  if (filters.active) conditions.push(sql`u.state = 'active'`);
  if (filters.blocked) conditions.push(sql`u.state in ('blocked', 'ldap_blocked')`);
  if (filters.two_factor === "enabled") conditions.push(sql`u.two_factor_enabled`);
  if (filters.two_factor === "disabled") conditions.push(sql`not u.two_factor_enabled`);
  if (filters.created_after !== undefined) conditions.push(sql`u.created_at >= ${filters.created_after}`);
  if (filters.created_before !== undefined) conditions.push(sql`u.created_at <= ${filters.created_before}`);
  return conditions;
}
