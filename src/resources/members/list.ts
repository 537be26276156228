import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { Static } from "typebox";
import { live } from "#access/levels.ts";
import type { Db } from "#db/database.ts";
import { FARTHEST, hitsOf, named } from "#http/hits.ts";
import type { First, PageOptions } from "#http/paging.ts";
import { matches, readSearch, type Search } from "#resources/users/search.ts";
import type { Place } from "./access.ts";
import type { MemberFilters } from "./params.ts";
import { counts, ownProject, type Sources } from "./queries.ts";

type Filters = Pick<Static<typeof MemberFilters>, "query" | "user_ids" | "state">;
type AnyQuery<O> = SelectQueryBuilder<any, any, O>;
type Condition = RawBuilder<boolean>;
type Ids = (first: First) => AnyQuery<{ id: number }>;

/** How many members are held against a search one by one. */
const FEW = 2000;
/** How many users whom a search finds are named. */
const MOST_HITS = 10_000;

/**
 * The members of a place that a caller asked for, as the part that a page is made of. Of a search whatever is less is
 * named and held against the other: the members of the place, or the users whom the search finds.
 */
export async function listMembers(db: Db, place: Place, sources: Sources, filters: Filters): Promise<PageOptions> {
  const search = filters.query?.trim() ? readSearch(filters.query, false) : undefined;
  const isMember = memberOf(place, sources);
  // Nobody waits to be let in.
  const asked = filters.state === "awaiting" ? [] : filters.user_ids;
  if (asked) return { parts: [those(db, asked, search ? [isMember, matches(search, true)] : [isMember])] };
  if (!search) return { parts: [everyMember(db, place, sources)] };
  const members = await hitsOf(db, [everyMember(db, place, sources)], FEW);
  if (members.many.length === 0) return { parts: [those(db, members.ids, [matches(search, true)])] };
  const found = await hitsOf(db, [db.selectFrom("users as u").select("u.id").where(matches(search, false))], MOST_HITS);
  if (found.many.length === 0) return { parts: [those(db, found.ids, [isMember])] };
  return { parts: [everyMember(db, place, sources, search)], total: Infinity, offsetLimit: FARTHEST };
}

const those = (db: Db, ids: readonly number[], conditions: readonly Condition[]) =>
  conditions.reduce(
    (users, condition) => users.where(condition),
    db.selectFrom(named("users", ids).as("u")).select(sql.ref<number>("u.id").as("id")),
  );

/** Whether the user `u` is a member; the offsets keep the planner from gathering all members instead. */
const memberOf = (place: Place, { groups }: Sources): Condition => sql`(
  exists (select from members m where m.user_id = u.id and m.group_id = any(${groups}::bigint[]) and ${counts(place)} offset 0)
  or exists (select from members m where m.user_id = u.id and m.project_id = ${ownProject(place)} and ${sql.raw(live("m"))} offset 0))`;

/**
 * Every member once, of those whom a search finds where there is one. Each source is read in order and only as far as
 * the page needs: all of them together may have a hundred thousand members.
 */
const everyMember =
  (db: Db, place: Place, { groups }: Sources, search?: Search): Ids =>
  (first) => {
    const matching = (condition: Condition) => {
      const ids = sql<{ id: number }>`(select m.user_id as id from members m where ${condition})`;
      if (!search) return first(db.selectFrom(ids.as("u")).select("u.id"));
      const users = db.selectFrom("users as u").innerJoin(ids.as("m"), "m.id", "u.id").select("u.id");
      return first(users.where(matches(search, true)));
    };
    const ofGroups = sql`select each.id from unnest(${groups}::bigint[]) source (group_id)
      cross join lateral (${matching(sql`m.group_id = source.group_id and ${counts(place)}`)}) each`;
    const ofProject = sql`(${matching(sql`m.project_id = ${ownProject(place)} and ${sql.raw(live("m"))}`)})`;
    return db
      .selectFrom(sql<{ id: number }>`(select distinct id from (${ofGroups} union all ${ofProject}) ways)`.as("u"))
      .select("u.id");
  };
