import { sql } from "kysely";
import type { Static } from "typebox";
import type { GroupSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Filter, Listing, Rows, Source } from "#db/lists/list-page.ts";
import { type Condition, order } from "#db/lists/order.ts";
import { matches } from "#domains/organization/namespaces/search.ts";
import { epicsSeenIn, epicVisibleTo } from "#domains/planning/items/visibility.ts";
import type { EpicFilters } from "./params.ts";

type Filters = Static<typeof EpicFilters>;

export const PAGING = {
  id: "e.id",
  orders: {
    created_at: order("e.created_at", "timestamptz"),
    updated_at: order("e.updated_at", "timestamptz"),
    title: order("e.title", "text"),
  },
  keyset: ["created_at", "updated_at", "title"],
  sort: "desc",
} as const;

/** The epics of a group, and of groups below and above it if asked for, as far as the caller may see them. */
export function listEpics(group: GroupSeen, actor: Actor | null, filters: Filters): Listing {
  const search = filters.search?.trim() || undefined;
  const labelled = namesIn(filters.labels)
    .filter((name) => !isWildcard(name))
    .map((name) => epicsLabelled(group, name));
  return {
    from: "epics as e",
    sources: [epicsOf(group, actor, filters)],
    isListed: sql`exists (select from namespaces n
      where n.id = e.group_id and ${inReach(group, filters)} and ${epicVisibleTo(actor)})`,
    finders: [labelled.length > 0 && sql`(${sql.join(labelled, sql` intersect `)})`],
    costly: labelled.map(isAmong),
    filters: [
      filters.state !== "all" && sql`e.state = ${filters.state}`,
      filters.confidential !== undefined && sql`e.confidential = ${filters.confidential}`,
      filters.author_id !== undefined && sql`e.author_id = ${filters.author_id}`,
      filters.author_username !== undefined &&
        sql`e.author_id = (select id from users where lower(username) = lower(${filters.author_username}))`,
      filters.iids !== undefined && sql`e.iid = any(${filters.iids}::integer[])`,
      filters.created_after !== undefined && sql`e.created_at >= ${filters.created_after}`,
      filters.created_before !== undefined && sql`e.created_at <= ${filters.created_before}`,
      filters.updated_after !== undefined && sql`e.updated_at >= ${filters.updated_after}`,
      filters.updated_before !== undefined && sql`e.updated_at <= ${filters.updated_before}`,
      filters.parent_id !== undefined && isBelow(filters.parent_id, actor),
      ...labelFilters(group, filters),
      search !== undefined && matches(search, sql`e.search_text`),
    ],
  };
}

/** The groups of the list, each with the first of its epics in order. */
function epicsOf(group: GroupSeen, actor: Actor | null, filters: Filters): Source {
  const { epics, confidential } = epicsSeenIn(actor);
  const groups = sql`(select n.id, ${confidential} as shows_confidential from namespaces n
    where ${inReach(group, filters)} and ${epics} offset 0)`;
  const ofOne = sql`(select e.* from epics e
    where e.group_id = g.id and (not e.confidential or g.shows_confidential))`;
  return {
    scan: (limitTo) => sql`(select e.* from ${groups} g cross join lateral ${limitTo(ofOne)} e)`,
    // PostgreSQL decides whether to begin with the groups or with the few epics that a filter finds.
    lookup: sql`(select e.* from epics e join namespaces n on n.id = e.group_id
      where ${inReach(group, filters)} and ${epicVisibleTo(actor)})`,
  };
}

function inReach({ id, traversal_ids: ids }: GroupSeen, filters: Filters): Condition {
  const end = [...ids.slice(0, -1), id + 1];
  const below = sql`(n.traversal_ids >= ${ids}::bigint[] and n.traversal_ids < ${end}::bigint[])`;
  const reach = [
    filters.include_descendant_groups ? below : sql`n.id = ${id}`,
    ...(filters.include_ancestor_groups ? [sql`n.id = any(${ids}::bigint[])`] : []),
  ];
  return sql`(${sql.join(reach, sql` or `)})`;
}

// Whoever may not see the parent must not learn which epics are below it.
const isBelow = (parentId: number, actor: Actor | null): Condition => sql`e.parent_id in (
  select e.id from epics e join namespaces n on n.id = e.group_id where e.id = ${parentId} and ${epicVisibleTo(actor)})`;

/** Any labels or none at all; and none of those to leave out. */
function labelFilters(group: GroupSeen, { labels, not }: Filters): Filter[] {
  return [
    ...namesIn(labels)
      .filter(isWildcard)
      .map((word) => (word.toLowerCase() === "any" ? hasAny : sql<boolean>`not ${hasAny}`)),
    ...namesIn(not?.labels).map((name) => sql<boolean>`not ${isAmong(epicsLabelled(group, name))}`),
  ];
}

const namesIn = (names: readonly string[] = []) => names.map((name) => name.trim()).filter(Boolean);
const isWildcard = (name: string) => /^(?:any|none)$/i.test(name);

const hasAny: Condition = sql`exists (
  select from label_links k join labels l on l.id = k.label_id where k.epic_id = e.id)`;

const isAmong = (epics: Rows): Condition => sql`e.id in (${epics})`;

/**
 * The ids of the epics with a label. Labels of epics are those of groups, all of one root. Their ids are found once and
 * not for every epic. The index of links has those of issues first, which `issue_id is null` skips.
 */
const epicsLabelled = ({ traversal_ids: [root = 0] }: GroupSeen, name: string): Rows => sql`
  select k.epic_id as id from label_links k where k.issue_id is null and k.label_id = any(array(
    select l.id from subtree(${[root]}::bigint[], ${[root + 1]}::bigint[]) s
      cross join lateral (select id from labels where group_id = s and name = ${name} offset 0) l))`;
