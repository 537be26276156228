import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { Static } from "typebox";
import { type Actor, isAdministrator } from "#access/actor.ts";
import type { GroupSeen } from "#access/containers.ts";
import { LEVELS, VISIBILITIES } from "#access/roles.ts";
import { groupParts, groupsOf, groupVisibleTo, visibleGroupParts } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import { groupsOfMember, type Pages, pagesOf } from "#resources/namespaces/list.ts";
import type { GroupFilters, SubgroupFilters } from "./params.ts";
import { groupColumns, groups, type Groups } from "./queries.ts";

type Filters = Omit<Static<typeof GroupFilters>, "id"> & Partial<Static<typeof SubgroupFilters>>;
type Condition = RawBuilder<boolean>;

/** The page of groups to come: by which query its rows are read, and of what it is made. */
export interface Listing {
  readonly query: Groups;
  readonly pages: Pages;
}

/** The groups that a caller asked for; `within` leaves those of one group. */
export async function listGroups(db: Db, actor: Actor | null, filters: Filters, within?: Condition): Promise<Listing> {
  const search = filters.search?.trim() || undefined;
  const own = within === undefined ? ownGroups(actor, filters) : ownWithin(actor, filters);
  const pages = await pagesOf(db, {
    parts: own ?? (filters.archived ? [archivedGroups(actor)] : visibleGroupParts(actor)),
    conditions: [...(within ? [within] : []), ...conditionsOf(filters)],
    search,
    // What is gathered from the caller's side is never many.
    mayBeFew: own === undefined && (within !== undefined || search !== undefined || filters.archived === true),
  });
  return filters.order_by === "similarity" ? bySimilarity(db, pages, search) : { query: groups(db), pages };
}

/** The groups right below a group. */
export const childrenOf = ({ id }: GroupSeen): Condition => sql`n.parent_id = ${id}`;

/** All groups below a group. */
export const descendantsOf = ({ id, traversal_ids }: GroupSeen): Condition => sql`
  n.traversal_ids > ${traversal_ids}::bigint[] and n.traversal_ids < ${[...traversal_ids.slice(0, -1), id + 1]}::bigint[]`;

/** Where a caller asked for their own groups, or did not ask for all: nobody has any who is not signed in. */
function ownGroups(actor: Actor | null, filters: Filters) {
  const parts = ownWithin(actor, filters);
  if (parts) return parts;
  return actor && !(filters.all_available ?? isAdministrator(actor)) ? [groupsOfMember(actor.user.id)] : undefined;
}

function ownWithin(actor: Actor | null, { owned, min_access_level }: Filters) {
  const least = owned ? LEVELS.owner : min_access_level;
  return least === undefined ? undefined : groupParts(actor?.user.id ?? 0, least);
}

function conditionsOf(filters: Filters): Condition[] {
  const conditions: Condition[] = [];
  if (filters.top_level_only) conditions.push(sql`n.parent_id is null`);
  if (filters.skip_groups?.length) conditions.push(sql`n.id <> all(${filters.skip_groups}::bigint[])`);
  // A literal, so that the parts of other visibilities are known to be empty.
  if (filters.visibility) conditions.push(sql`n.visibility = ${sql.lit(VISIBILITIES[filters.visibility])}`);
  if (filters.archived !== undefined) conditions.push(filters.archived ? archived : sql`not ${archived}`);
  return conditions;
}

// The offset is a fence: as a join it would hold every group against everyone that was put away.
const archived: Condition = sql`exists (
  select from namespaces a where a.archived and a.id = any(n.traversal_ids) offset 0)`;

/** What was put away with all that is in it, found from there, as far as the caller may see it. */
const archivedGroups = (actor: Actor | null): RawBuilder<unknown> =>
  groupsOf(
    sql`select distinct d.id from namespaces a cross join lateral (
      select d.id from namespaces d
      where d.traversal_ids >= a.traversal_ids and d.traversal_ids < a.subtree_end offset 0) d
    where a.archived`,
    groupVisibleTo(actor),
  );

/** Those that match best come first; too many to be sorted come by name, and so does everything without a search. */
function bySimilarity(db: Db, pages: Pages, search: string | undefined): Listing {
  const similarity = (search === undefined || pages.total === Infinity ? sql`n.name` : closeness(search)).as(
    "similarity",
  );
  const ranked = (rows: SelectQueryBuilder<any, any, any>) =>
    db.selectFrom(rows.selectAll("n").select(similarity).as("n"));
  const query = (ranked(db.selectFrom("namespaces as n")) as unknown as Groups).select(groupColumns);
  return { query, pages: { ...pages, parts: pages.parts.map(ranked) } };
}

const closeness = (search: string) => sql`case
  when lower(n.path) = lower(${search}) then '0'
  when lower(n.name) = lower(${search}) then '1'
  when starts_with(lower(n.path), lower(${search})) or starts_with(lower(n.name), lower(${search})) then '2'
  else '3' end || n.name`;
