import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { Static } from "typebox";
import { type Actor, isAdministrator } from "#access/actor.ts";
import type { GroupSeen } from "#access/containers.ts";
import { live } from "#access/levels.ts";
import { LEVELS, VISIBILITIES } from "#access/roles.ts";
import { belongsTo, partsOf, visibleParts, visibleTo } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import { COUNTED, type PageOptions } from "#http/paging.ts";
import { matches } from "#resources/namespaces/search.ts";
import type { ProjectFilters } from "./params.ts";
import { projectColumns, type Projects } from "./queries.ts";

export type Filters = Static<typeof ProjectFilters>;
type Condition = RawBuilder<boolean>;
type AnyQuery<O> = SelectQueryBuilder<any, any, O>;

/** What every list of projects may be ordered by. */
export const ORDERS = {
  id: "p.id",
  orders: {
    created_at: "p.created_at",
    id: "p.id",
    name: "p.name",
    path: "p.path",
    updated_at: "p.updated_at",
    last_activity_at: "p.last_activity_at",
    star_count: "p.star_count",
    similarity: "p.similarity",
  },
  keyset: ["created_at", "id", "name", "path", "updated_at", "last_activity_at", "star_count"],
  sort: "desc",
  offsetLimit: { rows: 50_000, type: "Project" },
} as const;

/** How many hits are named: as many as are counted. */
const MOST_HITS = COUNTED;
/** How far hits that are too many to be named may be paged by number. */
const FARTHEST = 5000;

/** Some of all projects, said twice: in parts that are read in order, and as a condition on what an index found. */
export interface Among {
  readonly parts: readonly RawBuilder<unknown>[];
  readonly condition: Condition;
  /** True where the parts are gathered from the caller's side: then nothing finds the rows sooner than they do. */
  readonly gathered?: true;
}

const part = (rows: RawBuilder<unknown>) => sql`(select p.* from ${rows})`;

export const nothing: Among = { parts: [part(sql`projects p where false`)], condition: sql`false` };

/** Everything that the caller may see, or of that what they asked for as their own, found from their side. */
export function everywhere(actor: Actor | null, filters: Filters): Among {
  const least = leastLevel(filters);
  // Parts of another visibility would be gathered only to be thrown away.
  const visibilities = filters.visibility && [VISIBILITIES[filters.visibility]];
  if (actor && filters.starred) return ownOf(starredBy(actor.user.id, actor), actor, { ...filters, starred: false });
  if (actor && least !== undefined) {
    const parts = partsOf(actor.user.id, { least, ...(visibilities && { visibilities }) });
    return { parts, condition: belongsTo(actor.user.id, least), gathered: true };
  }
  const parts = visibleParts(actor, visibilities);
  return parts.length === 0 ? nothing : ownOf({ parts, condition: visibleTo(actor) }, actor, filters);
}

/** Of some projects those that the caller asked for as their own; who is not signed in has none. */
export function ownOf(among: Among, actor: Actor | null, filters: Filters): Among {
  const least = leastLevel(filters);
  if (!filters.starred && least === undefined) return among;
  if (!actor) return nothing;
  const own = sql<boolean>`${filters.starred ? starred(actor.user.id) : sql`true`}
    and ${least === undefined ? sql`true` : belongsTo(actor.user.id, least)}`;
  return {
    parts: among.parts.map((rows) => part(sql`${rows} p where ${own}`)),
    condition: sql`${among.condition} and ${own}`,
  };
}

const leastLevel = ({ owned, membership, min_access_level: least }: Filters): number | undefined =>
  owned ? LEVELS.owner : (least ?? (membership ? LEVELS.guest : undefined));

const starsOf = (userId: number) => sql`select project_id from stars where user_id = ${userId}`;
const starred = (userId: number): Condition => sql`p.id in (${starsOf(userId)})`;

/** What a user starred, as far as the actor may see it. */
export function starredBy(userId: number, actor: Actor | null): Among {
  const visible = visibleTo(actor);
  return {
    parts: [
      part(sql`(${starsOf(userId)} offset 0) s join projects p on p.id = s.project_id where ${visible} offset 0`),
    ],
    condition: sql`${starred(userId)} and ${visible}`,
  };
}

/** What is in one namespace. */
export const inNamespace = (id: number, actor: Actor | null): Among => ({
  parts: [part(sql`projects p where p.namespace_id = ${id} and ${visibleTo(actor)}`)],
  condition: sql`p.namespace_id = ${id} and ${visibleTo(actor)}`,
});

interface Reach {
  readonly include_subgroups: boolean;
  readonly with_shared: boolean;
}

/** What is in a group or below it, and what is shared with it. */
export function ofGroup({ id, level, traversal_ids }: GroupSeen, actor: Actor | null, reach: Reach): Among {
  const end = [...traversal_ids.slice(0, -1), id + 1];
  const groups = reach.include_subgroups
    ? sql`select id from namespaces where traversal_ids >= ${traversal_ids}::bigint[] and traversal_ids < ${end}::bigint[]`
    : sql`select ${id}::bigint as id`;
  // Whoever belongs to a group sees all that is in it.
  const visible = isAdministrator(actor) || level >= LEVELS.guest ? sql<boolean>`true` : visibleTo(actor);
  const own = part(sql`(${groups}) g cross join lateral (
    select * from projects where namespace_id = g.id offset 0) p where ${visible}`);
  if (!reach.with_shared) return { parts: [own], condition: sql`p.namespace_id in (${groups}) and ${visible}` };
  const shared = sql`select s.project_id from shares s where s.with_group_id = ${id} and s.project_id is not null
    and ${sql.raw(live("s"))}`;
  return {
    parts: [
      own,
      part(sql`(${shared} offset 0) s join projects p on p.id = s.project_id
      where p.namespace_id not in (${groups}) and ${visibleTo(actor)} offset 0`),
    ],
    condition: sql`((p.namespace_id in (${groups}) and ${visible}) or (p.id in (${shared}) and ${visibleTo(actor)}))`,
  };
}

/** The projects of a page to come: by which query its rows are read, and of what it is made. */
export interface Listing {
  readonly query: Projects;
  readonly options: PageOptions;
}

/**
 * Finds the projects that a caller asked for among some. What may pick out few of them is looked up first, by whatever
 * index serves it best, and its hits are named: left to itself, the planner may walk a whole order to find twenty rare
 * ones. Where there are more hits than can be named, they are so common that a walk in order meets them soon.
 */
export async function listProjects(db: Db, among: Among, actor: Actor | null, filters: Filters): Promise<Listing> {
  const search = filters.search?.trim() || undefined;
  const conditionsWith = (searchText: RawBuilder<unknown>) =>
    conditionsOf(actor, filters, search === undefined ? undefined : matches(search, searchText));
  const walk = (options: PageOptions = {}): Listing => {
    // What is so common is looked for in names alone, which the index of a namespace's projects holds.
    const text = among.gathered ? sql`p.search_text` : sql`(lower(p.name) || chr(10) || lower(p.path))`;
    const conditions = conditionsWith(text);
    const similarity = among.gathered && search !== undefined ? closeness(search) : undefined;
    const parts = among.parts.map((rows) => narrowed(from(db, rows, similarity), conditions));
    return { query: from(db, sql`projects`, similarity), options: { parts, ...options } };
  };
  if (among.gathered || (!search && !mayPickFew(actor, filters))) return walk();
  const visible = db.selectFrom("projects as p").select("p.id").where(among.condition);
  const hits = await narrowed(visible, conditionsWith(sql`p.search_text`))
    .limit(sql.lit(MOST_HITS + 1))
    .execute();
  if (hits.length > MOST_HITS) return walk({ total: Infinity, offsetLimit: FARTHEST });
  return { query: named(db, hits, search), options: { total: hits.length } };
}

/** Rows of projects; too many to be compared with a search, the newest count as the most similar. */
const from = (db: Db, rows: RawBuilder<unknown>, similarity: RawBuilder<unknown> = sql`p.created_at`): Projects =>
  (db.selectFrom(sql`(select p.*, ${similarity} as similarity from ${rows} p)`.as("p")) as unknown as Projects).select(
    projectColumns,
  );

// The offset is a fence: without it the planner may still walk an order and hold every row of it against the list.
function named(db: Db, hits: readonly { id: number }[], search: string | undefined): Projects {
  const ids = `{${hits.map(({ id }) => id).join(",")}}`;
  const rows = sql`(select * from projects where id = any(${ids}::bigint[]) offset 0)`;
  return search === undefined ? from(db, rows) : from(db, rows, closeness(search));
}

const closeness = (search: string) => sql`greatest(similarity(p.name, ${search}), similarity(p.path, ${search}))`;

const narrowed = <O>(query: AnyQuery<O>, conditions: readonly Condition[]): AnyQuery<O> =>
  conditions.reduce((narrower, condition) => narrower.where(condition), query);

const mayPickFew = (actor: Actor | null, filters: Filters) =>
  filters.topic !== undefined ||
  filters.archived === true ||
  filters.id_after !== undefined ||
  filters.id_before !== undefined ||
  filters.last_activity_after !== undefined ||
  filters.last_activity_before !== undefined ||
  (isAdministrator(actor) && filters.repository_storage !== undefined);

const archivedGroups = sql`
  select n.id from namespaces a join namespaces n on n.traversal_ids >= a.traversal_ids and n.traversal_ids < a.subtree_end
  where a.archived`;
// Found by two indexes; of those that are not, few are passed over.
const archived = sql<boolean>`p.id in (select id from projects where archived
  union all select q.id from (${archivedGroups}) n join projects q on q.namespace_id = n.id)`;
const notArchived = sql<boolean>`not (p.archived or p.namespace_id in (${archivedGroups}))`;

const isEnabled = (preference: string): Condition =>
  sql`p.preferences ->> ${sql.lit(preference)} is distinct from 'disabled'`;

function conditionsOf(actor: Actor | null, filters: Filters, search: Condition | undefined): Condition[] {
  const conditions: Condition[] = search ? [search] : [];
  if (filters.visibility) conditions.push(sql`p.visibility = ${sql.lit(VISIBILITIES[filters.visibility])}`);
  if (filters.archived !== undefined) conditions.push(filters.archived ? archived : notArchived);
  if (filters.topic) conditions.push(sql`p.topics @> ${filters.topic}::text[]`);
  if (filters.id_after !== undefined) conditions.push(sql`p.id > ${filters.id_after}`);
  if (filters.id_before !== undefined) conditions.push(sql`p.id < ${filters.id_before}`);
  if (filters.last_activity_after) conditions.push(sql`p.last_activity_at >= ${filters.last_activity_after}`);
  if (filters.last_activity_before) conditions.push(sql`p.last_activity_at <= ${filters.last_activity_before}`);
  if (filters.with_issues_enabled) conditions.push(isEnabled("issues_access_level"));
  if (filters.with_merge_requests_enabled) conditions.push(isEnabled("merge_requests_access_level"));
  if (isAdministrator(actor) && filters.repository_storage !== undefined) {
    conditions.push(sql`p.repository_storage = ${filters.repository_storage}`);
  }
  return conditions;
}
