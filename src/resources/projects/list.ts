import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { Static } from "typebox";
import { type Actor, isAdministrator } from "#access/actor.ts";
import type { GroupSeen } from "#access/containers.ts";
import { live } from "#access/levels.ts";
import { LEVELS, VISIBILITIES } from "#access/roles.ts";
import { belongsTo, foundBy, partsOf, type Piece, visiblePieces, visibleTo } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import { FARTHEST, FREQUENT, hitsOf, named, SAMPLE } from "#http/hits.ts";
import { COUNTED, type PageOptions, type Part } from "#http/paging.ts";
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

/** Some of all projects, in pieces that have no row in common. */
export type Among = readonly Piece[];

const part = (rows: RawBuilder<unknown>) => sql`(select p.* from ${rows})`;

export const nothing: Among = [{ parts: [part(sql`projects p where false`)] }];

/** Everything that the caller may see, or of that what they asked for as their own, found from their side. */
export function everywhere(actor: Actor | null, filters: Filters): Among {
  const least = leastLevel(filters);
  // Parts of another visibility would be gathered only to be thrown away.
  const visibilities = filters.visibility && [VISIBILITIES[filters.visibility]];
  if (actor && filters.starred) return ownOf(starredBy(actor.user.id, actor), actor, { ...filters, starred: false });
  if (actor && least !== undefined) {
    return [{ parts: partsOf(actor.user.id, { least, ...(visibilities && { visibilities }) }) }];
  }
  const seen = visiblePieces(actor, visibilities);
  return seen.length === 0 ? nothing : ownOf(seen, actor, filters);
}

/** Of some projects those that the caller asked for as their own; who is not signed in has none. */
export function ownOf(among: Among, actor: Actor | null, filters: Filters): Among {
  const least = leastLevel(filters);
  if (!filters.starred && least === undefined) return among;
  if (!actor) return nothing;
  const own = sql<boolean>`${filters.starred ? starred(actor.user.id) : sql`true`}
    and ${least === undefined ? sql`true` : belongsTo(actor.user.id, least)}`;
  const ownIn = (rows: RawBuilder<unknown>) => part(sql`${rows} p where ${own}`);
  return among.map(({ parts, found, ...rest }) => ({
    ...rest,
    parts: parts.map(ownIn),
    ...(found && { found: ownIn(found) }),
  }));
}

const leastLevel = ({ owned, membership, min_access_level: least }: Filters): number | undefined =>
  owned ? LEVELS.owner : (least ?? (membership ? LEVELS.guest : undefined));

const starsOf = (userId: number) => sql`select project_id from stars where user_id = ${userId}`;
const starred = (userId: number): Condition => sql`p.id in (${starsOf(userId)})`;

/** What a user starred, as far as the actor may see it. */
export function starredBy(userId: number, actor: Actor | null): Among {
  const visible = visibleTo(actor);
  const rows = part(
    sql`(${starsOf(userId)} offset 0) s join projects p on p.id = s.project_id where ${visible} offset 0`,
  );
  return [{ parts: [rows], found: foundBy(sql`${starred(userId)} and ${visible}`) }];
}

/** What is in one namespace. */
export function inNamespace(id: number, actor: Actor | null): Among {
  const condition = sql<boolean>`p.namespace_id = ${id} and ${visibleTo(actor)}`;
  return [{ parts: [part(sql`projects p where ${condition}`)], found: foundBy(condition) }];
}

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
  const isOwn = sql<boolean>`p.namespace_id in (${groups}) and ${visible}`;
  if (!reach.with_shared) return [{ parts: [own], found: foundBy(isOwn) }];
  const shared = sql`select s.project_id from shares s where s.with_group_id = ${id} and s.project_id is not null
    and ${sql.raw(live("s"))}`;
  const others = part(sql`(${shared} offset 0) s join projects p on p.id = s.project_id
    where p.namespace_id not in (${groups}) and ${visibleTo(actor)} offset 0`);
  const found = foundBy(sql`((${isOwn}) or (p.id in (${shared}) and ${visibleTo(actor)}))`);
  return [{ parts: [own, others], found }];
}

/** The projects of a page to come: by which query its rows are read, and of what it is made. */
export interface Listing {
  readonly query: Projects;
  readonly options: PageOptions;
}

/** Finds the projects that a caller asked for among some; what may pick out few of them is looked up first. */
export async function listProjects(db: Db, among: Among, actor: Actor | null, filters: Filters): Promise<Listing> {
  const search = filters.search?.trim() || undefined;
  const conditions = conditionsOf(actor, filters);
  const searched = (text: RawBuilder<unknown>) => (search === undefined ? [] : [matches(search, text)]);
  const isText = search !== undefined || filters.topic !== undefined;
  const isFew = isText || mayPickFew(actor, filters);
  const frequent = search === undefined ? new Set<number>() : await frequentIn(db, matches(search, sql`p.search_text`));
  const isMet = ({ open }: Piece) => open !== undefined && frequent.has(open);
  const lookedUp = among.filter((piece) => piece.found && !isMet(piece) && (piece.open === undefined ? isText : isFew));

  const quick: Part[] = [];
  for (const piece of lookedUp) {
    const gathers = piece.open === undefined && (frequent.size > 0 || !(await isLarge(db, piece)));
    const rows = gathers ? together(piece.parts) : (piece.found ?? together(piece.parts));
    const found = db.selectFrom((filters.archived ? archivedIn(rows) : rows).as("p"));
    const all = [...searched(sql`p.search_text`), ...conditions, ...(filters.archived ? [] : archivedOrNot(filters))];
    quick.push(narrowed(found, all).select(sql.ref("p.id").as("id")));
  }
  const { ids, many } = await hitsOf(db, quick, MOST_HITS);
  const common = new Set([...among.filter(isMet), ...many.map((at) => lookedUp[at])]);

  const similarity = search === undefined || common.size > 0 ? sql`p.created_at` : closeness(search);
  // What is so common is looked for in names alone, which the index of a namespace's projects holds.
  const text = common.size > 0 ? sql`(lower(p.name) || chr(10) || lower(p.path))` : sql`p.search_text`;
  const all = [...searched(text), ...conditions, ...archivedOrNot(filters)];
  const walked = among
    .filter((piece) => !lookedUp.includes(piece) || common.has(piece))
    .flatMap((piece) => piece.parts.map((rows) => narrowed(from(db, rows, similarity), all)));
  const few = narrowed(from(db, named("projects", ids), similarity), common.size > 0 ? searched(text) : []);
  const parts = lookedUp.length === 0 ? walked : [few, ...walked];
  return {
    query: from(db, sql`projects`, similarity),
    options: {
      parts,
      ...(walked.length === 0 && { total: ids.length }),
      ...(common.size > 0 && { total: Infinity, offsetLimit: FARTHEST }),
    },
  };
}

/** The visibilities where a search has so many hits that it is better not looked up. */
async function frequentIn(db: Db, search: Condition): Promise<ReadonlySet<number>> {
  const { rows } = await sql<{ visibility: number }>`
    select visibility from projects p ${SAMPLE} where ${search}
    group by visibility having count(*) >= ${sql.lit(FREQUENT)}`.execute(db);
  return new Set(rows.map(({ visibility }) => visibility));
}

/** Whether a piece has so many projects that their texts are not read one by one. */
async function isLarge(db: Db, { parts }: Piece): Promise<boolean> {
  const ids = db.selectFrom(together(parts).as("p")).select(sql.ref("p.id").as("id"));
  return (await hitsOf(db, [ids], MOST_HITS)).many.length > 0;
}

const together = (parts: readonly RawBuilder<unknown>[]) =>
  sql`(${sql.join(
    parts.map((rows) => part(sql`${rows} p`)),
    sql` union all `,
  )})`;

/** Rows of projects; too many to be compared with a search, the newest count as the most similar. */
const from = (db: Db, rows: RawBuilder<unknown>, similarity: RawBuilder<unknown>): Projects =>
  (db.selectFrom(sql`(select p.*, ${similarity} as similarity from ${rows} p)`.as("p")) as unknown as Projects).select(
    projectColumns,
  );

const closeness = (search: string) => sql`greatest(similarity(p.name, ${search}), similarity(p.path, ${search}))`;

const narrowed = <O>(query: AnyQuery<O>, conditions: readonly Condition[]): AnyQuery<O> =>
  conditions.reduce((narrower, condition) => narrower.where(condition), query);

const mayPickFew = (actor: Actor | null, filters: Filters) =>
  filters.archived === true ||
  filters.id_after !== undefined ||
  filters.id_before !== undefined ||
  filters.last_activity_after !== undefined ||
  filters.last_activity_before !== undefined ||
  (isAdministrator(actor) && filters.repository_storage !== undefined);

const archivedGroups = sql`
  select s from namespaces a cross join subtree(a.traversal_ids, a.subtree_end) s where a.archived`;
const archived = sql<boolean>`(p.archived or p.namespace_id in (${archivedGroups}))`;
const archivedOrNot = ({ archived: wanted }: Filters): Condition[] =>
  wanted === undefined ? [] : [wanted ? archived : sql`not ${archived}`];

/** What was put away of some rows, each found by an index: itself, or with a group that it is in. */
const archivedIn = (rows: RawBuilder<unknown>) => sql`(
  select p.* from ${rows} p where p.archived
  union all select p.* from ${rows} p where not p.archived and p.namespace_id in (${archivedGroups}))`;

const isEnabled = (preference: string): Condition =>
  sql`p.preferences ->> ${sql.lit(preference)} is distinct from 'disabled'`;

function conditionsOf(actor: Actor | null, filters: Filters): Condition[] {
  const conditions: Condition[] = [];
  if (filters.visibility) conditions.push(sql`p.visibility = ${sql.lit(VISIBILITIES[filters.visibility])}`);
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
