import { sql } from "kysely";
import type { Static } from "typebox";
import { type Actor, isAdministrator } from "#access/principal.ts";
import type { GroupSeen } from "#access/containers.ts";
import { LEVELS, VISIBILITIES } from "#access/roles.ts";
import { groupsOf, groupVisibleTo, memberGroups, visibleGroups } from "#access/visible.ts";
import type { Listing, Rows, Source } from "#db/lists/list-page.ts";
import { type Condition, order } from "#db/lists/order.ts";
import { groupsOfMember } from "#domains/organization/namespaces/list.ts";
import { matches } from "#domains/organization/namespaces/search.ts";
import type { GroupFilters, SubgroupFilters } from "./params.ts";

type Filters = Omit<Static<typeof GroupFilters>, "id"> & Partial<Static<typeof SubgroupFilters>>;

const byName = order("n.name", "text");

/** The orders of every list of groups; without a search, similarity means by name. */
export const ORDERS = { name: byName, path: order("n.path", "text"), id: order("n.id", "bigint"), similarity: byName };

/** Filters groups by the caller's parameters; `within` limits them to those below a group. */
export function listGroups(actor: Actor | null, filters: Filters, within?: Condition): Listing {
  const search = filters.search?.trim() || undefined;
  return {
    from: "namespaces as n",
    sources: sourcesOf(actor, filters, within === undefined),
    filters: [
      within,
      filters.top_level_only && sql`n.parent_id is null`,
      !!filters.skip_groups?.length && sql`n.id <> all(${filters.skip_groups}::bigint[])`,
      // A literal lets the planner drop the sources of other visibilities.
      filters.visibility && sql`n.visibility = ${sql.lit(VISIBILITIES[filters.visibility])}`,
      filters.archived !== undefined && (filters.archived ? isArchived : sql`not ${isArchived}`),
      search !== undefined && matches(search, sql`n.search_text`),
    ],
    ...(search !== undefined && { orders: { similarity: order(closeness(search), "text", { scannedBy: byName }) } }),
  };
}

/** The direct subgroups of a group. */
export const childrenOf = ({ id }: GroupSeen): Condition => sql`n.parent_id = ${id}`;

/** All groups below a group. */
export const descendantsOf = ({ id, traversal_ids }: GroupSeen): Condition => sql`
  n.traversal_ids > ${traversal_ids}::bigint[] and n.traversal_ids < ${[...traversal_ids.slice(0, -1), id + 1]}::bigint[]`;

/** The ids of the groups below a group that the actor may see. Members of a group see every group below it. */
export function visibleGroupsBelow(group: GroupSeen, actor: Actor | null): Rows {
  const visible = isAdministrator(actor) || group.level >= LEVELS.guest ? sql`true` : groupVisibleTo(actor);
  return sql`(select n.id from namespaces n where n.kind = 'group' and ${descendantsOf(group)} and ${visible})`;
}

function sourcesOf(actor: Actor | null, filters: Filters, everywhere: boolean): readonly Source[] {
  const least = filters.owned ? LEVELS.owner : filters.min_access_level;
  // Anonymous callers belong to no group.
  if (least !== undefined) return memberGroups(actor?.user.id ?? 0, least);
  const ownOnly = everywhere && actor && !(filters.all_available ?? isAdministrator(actor));
  if (ownOnly) return [groupsOfMember(actor.user.id)];
  return filters.archived ? [archivedGroups(actor)] : visibleGroups(actor);
}

// The offset is an optimization fence: as a join it would compare every group with every archived one.
const isArchived: Condition = sql`exists (
  select from namespaces a where a.archived and a.id = any(n.traversal_ids) offset 0)`;

/** The visible archived groups, found by walking down from those archived by themselves. */
const archivedGroups = (actor: Actor | null): Source => ({
  unordered: true,
  scan: groupsOf(
    sql`select distinct d.id from namespaces a cross join lateral (
      select d.id from namespaces d
      where d.traversal_ids >= a.traversal_ids and d.traversal_ids < a.subtree_end offset 0) d
    where a.archived`,
    groupVisibleTo(actor),
  ),
});

const closeness = (search: string) => sql`case
  when lower(n.path) = lower(${search}) then '0'
  when lower(n.name) = lower(${search}) then '1'
  when starts_with(lower(n.path), lower(${search})) or starts_with(lower(n.name), lower(${search})) then '2'
  else '3' end || n.name`;
