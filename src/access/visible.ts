import { type RawBuilder, sql } from "kysely";
import { type Actor, isAdministrator } from "./actor.ts";
import { live, ownMemberships, reachedNamespaces, sharedProjects } from "./levels.ts";
import { LEVELS, VISIBILITIES } from "./roles.ts";

const ALL: readonly number[] = Object.values(VISIBILITIES);

interface OpenAndClosed {
  readonly open: readonly number[];
  readonly closed: readonly number[];
}

/** The visibilities that are open to an actor who is no member, and those that are not. */
function openAndClosed(actor: Actor | null, among: readonly number[] = ALL): OpenAndClosed {
  const least = isAdministrator(actor)
    ? VISIBILITIES.private
    : actor && !actor.user.external
      ? VISIBILITIES.internal
      : VISIBILITIES.public;
  return { open: among.filter((value) => value >= least), closed: among.filter((value) => value < least) };
}

const list = (values: readonly number[]) => sql.raw(`(${values.join(", ")})`);

/** Whether an actor may see the row of `projects as p`: the one condition for every list, feed and search. */
export function visibleTo(actor: Actor | null): RawBuilder<boolean> {
  const { open, closed } = openAndClosed(actor);
  if (closed.length === 0) return sql`true`;
  if (!actor) return sql`p.visibility in ${list(open)}`;
  return sql`(p.visibility in ${list(open)} or ${belongsTo(actor.user.id)})`;
}

/** Whether a user has at least a level in the row of `projects as p`, by whatever way. */
export const belongsTo = (userId: number, least: number = LEVELS.guest): RawBuilder<boolean> => sql`(
  p.namespace_id in (select id from (${reachedNamespaces(userId, least)}) reached)
  or p.id in (select id from (${ownMemberships(userId, least)}) own)
  or p.id in (select id from (${sharedProjects(userId, least)}) shared))`;

/**
 * The rows of some ids, each looked up by its id whatever the planner expects: it would rather walk all rows in the
 * order that is asked for and hold them against the ids, which for twenty rare ones is a walk of the whole table.
 */
const projectsOf = (ids: RawBuilder<unknown>, where: RawBuilder<unknown>): RawBuilder<unknown> => sql`(
  select p.* from (${ids}) ids cross join lateral (
    select p.* from projects p where p.id = ids.id and ${where} offset 0) p)`;

/** The same for groups, to be read as `n`. */
export const groupsOf = (ids: RawBuilder<unknown>, where: RawBuilder<unknown> = sql`true`): RawBuilder<unknown> => sql`(
  select n.* from (${ids}) ids cross join lateral (
    select n.* from namespaces n where n.id = ids.id and n.kind = 'group' and ${where} offset 0) n)`;

/** The projects that a user belongs to, in parts that have no row in common, each to be read as `p`. */
export function partsOf(
  userId: number,
  { least = LEVELS.guest, visibilities }: { least?: number; visibilities?: readonly number[] } = {},
): RawBuilder<unknown>[] {
  const seen = visibilities ? sql`p.visibility in ${list(visibilities)}` : sql`true`;
  const reached = sql`select id from (${reachedNamespaces(userId, least)}) reached`;
  const single = sql`select id from (${ownMemberships(userId, least)}) own
    union select id from (${sharedProjects(userId, least)}) shared`;
  return [
    sql`(select p.* from (${reached}) r cross join lateral (
      select p.* from projects p where p.namespace_id = r.id and ${seen} offset 0) p)`,
    projectsOf(single, sql`${seen} and p.namespace_id not in (${reached})`),
  ];
}

/** Some projects, said in two ways, each to be read as `p`. */
export interface Piece {
  /** As they are read in order or, where they are few of all, gathered. */
  readonly parts: readonly RawBuilder<unknown>[];
  /** The same rows as an index of what they are narrowed by finds them; without it nothing finds them sooner. */
  readonly found?: RawBuilder<unknown>;
  /** The visibility whose projects these are, all of them and in order; nothing where they are gathered. */
  readonly open?: number;
}

/** Projects as an index finds them: each visibility has its own of words, which only its literal value chooses. */
export const foundBy = (condition: RawBuilder<boolean>, visibilities: readonly number[] = ALL): RawBuilder<unknown> =>
  sql`(${sql.join(
    visibilities.map(
      (value) => sql`select p.* from projects p where p.visibility = ${sql.lit(value)} and ${condition}`,
    ),
    sql` union all `,
  )})`;

/** The projects that an actor may see, or those of some visibilities, in pieces that have no row in common. */
export function visiblePieces(actor: Actor | null, among: readonly number[] = ALL): Piece[] {
  const { open, closed } = openAndClosed(actor, among);
  const pieces: Piece[] = open.map((value) => {
    const rows = sql`(select p.* from projects p where p.visibility = ${sql.lit(value)})`;
    return { parts: [rows], found: rows, open: value };
  });
  if (!actor || closed.length === 0) return pieces;
  const { id } = actor.user;
  return [...pieces, { parts: partsOf(id, { visibilities: closed }), found: foundBy(belongsTo(id), closed) }];
}

/** The groups that a user belongs to, and the groups above whatever they belong to: to those they may look up. */
const groupsSeenBy = (userId: number): RawBuilder<unknown> => sql`
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

/** The groups that an actor may see, in parts that have no row in common, each to be read as `n`. */
export function visibleGroupParts(actor: Actor | null): RawBuilder<unknown>[] {
  const { open, closed } = openAndClosed(actor);
  const openParts = open.map(
    (value) => sql`(select n.* from namespaces n where n.kind = 'group' and n.visibility = ${sql.lit(value)})`,
  );
  if (!actor || closed.length === 0) return openParts;
  return [...openParts, groupsOf(groupsSeenBy(actor.user.id), sql`n.visibility in ${list(closed)}`)];
}

/** The groups where a user has at least a level, to be read as `n`. */
export const groupParts = (userId: number, least: number = LEVELS.guest): RawBuilder<unknown>[] => [
  groupsOf(reachedNamespaces(userId, least)),
];
