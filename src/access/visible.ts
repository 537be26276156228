import { type RawBuilder, sql } from "kysely";
import type { Rows, TableSource } from "#db/lists/list-page.ts";
import { type Actor, isAdministrator } from "./principal.ts";
import { type Feature, FEATURES } from "./features.ts";
import { live, ownMemberships, reachedNamespaces, sharedProjects } from "./levels.ts";
import { LEVELS, VISIBILITIES } from "./roles.ts";

const ALL: readonly number[] = Object.values(VISIBILITIES);

interface OpenAndClosed {
  readonly open: readonly number[];
  readonly closed: readonly number[];
}

/** The visibilities that are open to an actor who is no member, and those that are not. */
function openAndClosed(actor: Actor | null, among: readonly number[] = ALL): OpenAndClosed {
  const lowestOpen = isAdministrator(actor)
    ? VISIBILITIES.private
    : actor && !actor.user.external
      ? VISIBILITIES.internal
      : VISIBILITIES.public;
  return { open: among.filter((value) => value >= lowestOpen), closed: among.filter((value) => value < lowestOpen) };
}

/** The visibilities that are open to an actor who is no member. */
export const openVisibilities = (actor: Actor | null): readonly number[] => openAndClosed(actor).open;

const list = (values: readonly number[]) => sql.raw(`(${values.join(", ")})`);

/**
 * Whether an actor may see the row of `projects as p`, or use a feature of it: the one condition for every list, feed
 * and search, and the same as `visibleProject` and `mayUse`.
 */
export function visibleTo(actor: Actor | null, { feature }: { readonly feature?: Feature } = {}): RawBuilder<boolean> {
  const { open, closed } = openAndClosed(actor);
  if (!feature) {
    if (closed.length === 0) return sql`true`;
    if (!actor) return sql`p.visibility in ${list(open)}`;
    return sql`(p.visibility in ${list(open)} or ${belongsTo(actor.user.id)})`;
  }
  const { column, role } = FEATURES[feature];
  const access = sql.ref(`p.${column}`);
  if (closed.length === 0) return sql`${access} <> 'disabled'`;
  const openToAll = openWithFeature(actor, feature);
  if (!actor) return openToAll;
  return sql`(${openToAll} or (${access} <> 'disabled' and ${belongsTo(actor.user.id, LEVELS[role])}))`;
}

/** Whether an actor may use a feature of the row of `projects as p` without being a member. */
export function openWithFeature(actor: Actor | null, feature: Feature): RawBuilder<boolean> {
  const { open } = openAndClosed(actor);
  return sql`(p.visibility in ${list(open)} and ${sql.ref(`p.${FEATURES[feature].column}`)} = 'enabled')`;
}

/** Whether a user has at least a level in the row of `projects as p`, direct, inherited or by a share. */
export const belongsTo = (userId: number, minLevel: number = LEVELS.guest): RawBuilder<boolean> => sql`(
  p.namespace_id in (select id from (${reachedNamespaces(userId, minLevel)}) reached)
  or p.id in (select id from (${ownMemberships(userId, minLevel)}) own)
  or p.id in (select id from (${sharedProjects(userId, minLevel)}) shared))`;

// The offset forces a lookup of each id: PostgreSQL would otherwise scan a whole order and compare every row with the
// ids.
const projectsOf = (ids: Rows, where: RawBuilder<unknown>): Rows => sql`(
  select p.* from (${ids}) ids cross join lateral (
    select p.* from projects p where p.id = ids.id and ${where} offset 0) p)`;

/** The groups of some ids, as rows of `n`. */
export const groupsOf = (ids: Rows, where: RawBuilder<unknown> = sql`true`): Rows => sql`(
  select n.* from (${ids}) ids cross join lateral (
    select n.* from namespaces n where n.id = ids.id and n.kind = 'group' and ${where} offset 0) n)`;

/** The projects where a user has at least a level, as rows of `p`. */
export function memberProjects(
  userId: number,
  {
    minLevel = LEVELS.guest,
    visibilities = ALL,
  }: { minLevel?: number; visibilities?: readonly number[] | undefined } = {},
): TableSource[] {
  const seen = visibilities === ALL ? sql`true` : sql`p.visibility in ${list(visibilities)}`;
  const reached = sql`select id from (${reachedNamespaces(userId, minLevel)}) reached`;
  const single = sql`select id from (${ownMemberships(userId, minLevel)}) own
    union select id from (${sharedProjects(userId, minLevel)}) shared`;
  const inReached = sql`(select p.* from (${reached}) r cross join lateral (
    select p.* from projects p where p.namespace_id = r.id and ${seen} offset 0) p)`;
  const others = projectsOf(single, sql`${seen} and p.namespace_id not in (${reached})`);
  return [inReached, others].map((scan) => ({ scan, unordered: true }));
}

/** The projects that an actor may see, or those of some visibilities, as rows of `p`. */
export function visibleProjects(actor: Actor | null, among?: readonly number[]): TableSource[] {
  const { open, closed } = openAndClosed(actor, among);
  // With a literal visibility the planner can use the partial indexes for orders and searches.
  const openProjects = open.map((value) => ({
    scan: sql`(select p.* from projects p where p.visibility = ${sql.lit(value)})`,
  }));
  if (!actor || closed.length === 0) return openProjects;
  return [...openProjects, ...memberProjects(actor.user.id, { visibilities: closed })];
}

/** The groups that a user belongs to, and all groups above anything that the user belongs to. */
const groupsSeenBy = (userId: number): Rows => sql`
  select m.group_id as id from members m
  where m.user_id = ${userId} and m.group_id is not null and ${sql.raw(live("m"))}
  union select unnest(n.traversal_ids) from (${reachedNamespaces(userId)}) reached join namespaces n using (id)
  union select unnest(n.traversal_ids) from (
      ${ownMemberships(userId)} union all ${sharedProjects(userId)}
    ) own join projects p on p.id = own.id join namespaces n on n.id = p.namespace_id where n.kind = 'group'`;

/** Whether an actor may see the row of `namespaces as n`, a group. */
export function groupVisibleTo(actor: Actor | null): RawBuilder<boolean> {
  const { open, closed } = openAndClosed(actor);
  if (closed.length === 0) return sql`true`;
  if (!actor) return sql`n.visibility in ${list(open)}`;
  return sql`(n.visibility in ${list(open)} or n.id in (${groupsSeenBy(actor.user.id)}))`;
}

/** The groups that an actor may see, as rows of `n`. */
export function visibleGroups(actor: Actor | null): TableSource[] {
  const { open, closed } = openAndClosed(actor);
  const openGroups = open.map((value) => ({
    scan: sql`(select n.* from namespaces n where n.kind = 'group' and n.visibility = ${sql.lit(value)})`,
  }));
  if (!actor || closed.length === 0) return openGroups;
  const closedGroups = groupsOf(groupsSeenBy(actor.user.id), sql`n.visibility in ${list(closed)}`);
  return [...openGroups, { scan: closedGroups, unordered: true }];
}

/** The groups where a user has at least a level, as rows of `n`. */
export const memberGroups = (userId: number, minLevel: number = LEVELS.guest): TableSource[] => [
  { scan: groupsOf(reachedNamespaces(userId, minLevel)), unordered: true },
];
