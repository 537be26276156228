import { sql } from "kysely";
import type { Static } from "typebox";
import { type Feature, FEATURES } from "#access/features.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import type { GroupSeen } from "#access/containers.ts";
import { live } from "#access/levels.ts";
import { LEVELS, VISIBILITIES } from "#access/roles.ts";
import { belongsTo, memberProjects, visibleProjects, visibleTo } from "#access/visible.ts";
import type { Filter, Listing, Rows, TableSource } from "#db/lists/list-page.ts";
import { type Condition, order } from "#db/lists/order.ts";
import { matches } from "#domains/organization/namespaces/search.ts";
import type { ProjectFilters } from "./params.ts";
import { archivedGroups, isArchived } from "./queries.ts";

export type Filters = Static<typeof ProjectFilters>;

const newest = order("p.created_at", "timestamptz");

/** The orders of every list of projects; without a search, similarity means newest first. */
export const PAGING = {
  id: "p.id",
  orders: {
    created_at: newest,
    id: order("p.id", "bigint"),
    name: order("p.name", "text"),
    path: order("p.path", "text"),
    updated_at: order("p.updated_at", "timestamptz"),
    last_activity_at: order("p.last_activity_at", "timestamptz"),
    star_count: order("p.star_count", "integer"),
    similarity: newest,
  },
  keyset: ["created_at", "id", "name", "path", "updated_at", "last_activity_at", "star_count"],
  sort: "desc",
  type: "Project",
} as const;

/** Filters the projects of some sources by the caller's parameters. */
export function listProjects(sources: readonly TableSource[], actor: Actor | null, filters: Filters): Listing {
  const search = filters.search?.trim() || undefined;
  return {
    from: "projects as p",
    sources: filters.archived ? sources.map(archivedIn) : sources,
    filters: [
      ...ownOnly(actor, filters),
      filters.visibility && sql`p.visibility = ${sql.lit(VISIBILITIES[filters.visibility])}`,
      filters.topic && sql`p.topics @> ${filters.topic}::text[]`,
      filters.id_after !== undefined && sql`p.id > ${filters.id_after}`,
      filters.id_before !== undefined && sql`p.id < ${filters.id_before}`,
      filters.last_activity_after && sql`p.last_activity_at >= ${filters.last_activity_after}`,
      filters.last_activity_before && sql`p.last_activity_at <= ${filters.last_activity_before}`,
      filters.with_issues_enabled && hasFeature("issues"),
      filters.with_merge_requests_enabled && hasFeature("merge_requests"),
      isAdministrator(actor) &&
        filters.repository_storage !== undefined &&
        sql`p.repository_storage = ${filters.repository_storage}`,
      filters.archived !== undefined && (filters.archived ? isArchived : sql`not ${isArchived}`),
      search !== undefined && matches(search, sql`p.search_text`),
    ],
    ...(search !== undefined && { orders: { similarity: order(closeness(search), "real", { scannedBy: newest }) } }),
  };
}

/** All projects that the caller may see; their starred or member projects are found starting from the caller. */
export function listEverywhere(actor: Actor | null, asked: Filters): Listing {
  const { owned: _, membership: __, min_access_level: ___, visibility, ...rest } = asked;
  if (actor && asked.starred) return listProjects(starredBy(actor.user.id, actor), actor, { ...asked, starred: false });
  const visibilities = visibility && [VISIBILITIES[visibility]];
  const least = leastLevel(asked);
  if (actor && least !== undefined) {
    return listProjects(memberProjects(actor.user.id, { minLevel: least, visibilities }), actor, rest);
  }
  return listProjects(actor || !isOwn(asked) ? visibleProjects(actor, visibilities) : [], actor, rest);
}

/** The projects that a user starred, as far as the actor may see them. */
export const starredBy = (userId: number, actor: Actor | null): TableSource[] => [
  {
    unordered: true,
    scan: sql`(select p.* from (${starsOf(userId)} offset 0) s join projects p on p.id = s.project_id
      where ${visibleTo(actor)} offset 0)`,
  },
];

/** The projects in one namespace. */
export const inNamespace = (id: number, actor: Actor | null): TableSource[] => [
  { scan: sql`(select p.* from projects p where p.namespace_id = ${id} and ${visibleTo(actor)})` },
];

interface Reach {
  readonly include_subgroups: boolean;
  readonly with_shared: boolean;
}

/** The projects in a group or below it, and those shared with it. */
export function ofGroup({ id, level, traversal_ids }: GroupSeen, actor: Actor | null, reach: Reach): TableSource[] {
  const end = [...traversal_ids.slice(0, -1), id + 1];
  const groups = reach.include_subgroups
    ? sql`select id from namespaces where traversal_ids >= ${traversal_ids}::bigint[] and traversal_ids < ${end}::bigint[]`
    : sql`select ${id}::bigint as id`;
  // Members of a group see every project in it.
  const visible = isAdministrator(actor) || level >= LEVELS.guest ? sql<boolean>`true` : visibleTo(actor);
  const own = sql`(select p.* from (${groups}) g cross join lateral (
    select * from projects where namespace_id = g.id offset 0) p where ${visible})`;
  if (!reach.with_shared) return [{ scan: own, unordered: true }];
  const shared = sql`(select p.* from (
      select s.project_id from shares s
      where s.with_group_id = ${id} and s.project_id is not null and ${sql.raw(live("s"))} offset 0
    ) s join projects p on p.id = s.project_id
    where p.namespace_id not in (${groups}) and ${visibleTo(actor)} offset 0)`;
  return [own, shared].map((scan) => ({ scan, unordered: true }));
}

const leastLevel = ({ owned, membership, min_access_level: least }: Filters): number | undefined =>
  owned ? LEVELS.owner : (least ?? (membership ? LEVELS.guest : undefined));

const isOwn = (filters: Filters) => filters.starred === true || leastLevel(filters) !== undefined;

/** Limits a list to the caller's starred or member projects; anonymous callers have none. */
function ownOnly(actor: Actor | null, filters: Filters): Filter[] {
  const least = leastLevel(filters);
  if (!actor) return [isOwn(filters) && sql`false`];
  const { id } = actor.user;
  return [filters.starred === true && sql`p.id in (${starsOf(id)})`, least !== undefined && belongsTo(id, least)];
}

const starsOf = (userId: number): Rows => sql`select project_id from stars where user_id = ${userId}`;

/** Finds the archived projects of a source by index: archived by themselves, or by a group above. */
const archivedIn = ({ scan, ...rest }: TableSource): TableSource => ({
  ...rest,
  scan,
  lookup: sql`(select p.* from ${scan} p where p.archived
    union all select p.* from ${scan} p where not p.archived and p.namespace_id in (${archivedGroups}))`,
});

const hasFeature = (feature: Feature): Condition => sql`${sql.ref(`p.${FEATURES[feature].column}`)} <> 'disabled'`;

const closeness = (search: string) => sql`greatest(similarity(p.name, ${search}), similarity(p.path, ${search}))`;
