import { type RawBuilder, sql } from "kysely";
import { LEVELS } from "./roles.ts";

/** A membership or share expires at the beginning of its `expires_at`, by the clock of PostgreSQL. */
export const live = (alias: string) =>
  `(${alias}.expires_at is null or ${alias}.expires_at > (now() at time zone 'UTC')::date)`;

/** A membership that is inherited below its group; minimal access is not. */
const reaching = (alias: string) => `${alias}.access_level >= ${LEVELS.guest} and ${live(alias)}`;

/** Levels of `user` by the shares, `shares as s`, that meet the condition `shared`: by the invited group or one above it. */
export const byShares = (user: string, shared: string) => `
  select least(s.access_level, m.access_level) as access_level
  from shares s join namespaces w on w.id = s.with_group_id join members m on m.group_id = any(w.traversal_ids)
  where ${shared} and ${live("s")} and m.user_id = ${user} and ${reaching("m")}`;

/** Levels of `user` that `namespaces as n` inherits: from the groups above it, and from the shares of those. */
const inherited = (user: string) => `
  select m.access_level from members m
  where m.group_id = any(n.traversal_ids) and m.user_id = ${user} and ${reaching("m")}
  union all ${byShares(user, "s.group_id = any(n.traversal_ids)")}`;

/** The level of `user` in `projects as p` with `namespaces as n`: the highest of its own, shared and inherited ones, 0 for none. */
export const levelInProject = (user: string) => `
  coalesce((select max(access_level) from (
    select m.access_level from members m where m.project_id = p.id and m.user_id = ${user} and ${live("m")}
    union all ${byShares(user, "s.project_id = p.id")}
    union all ${inherited(user)}
  ) ways), 0)::integer`;

/** The level of `user` in the group `namespaces as n`, minimal access included. */
export const levelInGroup = (user: string) => `
  coalesce((select max(access_level) from (
    select m.access_level from members m where m.group_id = n.id and m.user_id = ${user} and ${live("m")}
    union all ${inherited(user)}
  ) ways), 0)::integer`;

/** Whether a project is in `group` or below it; one is enough, so they are looked for one by one. */
const holdsProject = (group: string) => `
  (select 1 from namespaces n
   where n.traversal_ids >= ${group}.traversal_ids and n.traversal_ids < ${group}.subtree_end
     and (select p.id from projects p where p.namespace_id = n.id limit 1) is not null
   limit 1) is not null`;

/**
 * Whether `user` has a level in any project: by a membership, by one in a group above it, or by a share. Each part is a
 * scalar subquery: as `exists` they could become joins, which read the memberships of all users first.
 */
export const reachesProject = (user: string) => `
  ((select m.id from members m where m.user_id = ${user} and m.project_id is not null and ${live("m")} limit 1) is not null
  or (select m.id from members m join namespaces g on g.id = m.group_id
    where m.user_id = ${user} and m.group_id is not null and ${reaching("m")} and (${holdsProject("g")}
      or (select s.id
        from namespaces w join shares s on s.with_group_id = w.id left join namespaces h on h.id = s.group_id
        where w.traversal_ids >= g.traversal_ids and w.traversal_ids < g.subtree_end and ${live("s")}
          and (s.project_id is not null or ${holdsProject("h")})
        limit 1) is not null)
    limit 1) is not null)`;

/** The namespaces that a user's groups and their shares reach, each with the highest level there. */
export const reachedNamespaces = (userId: number, minLevel: number = LEVELS.guest): RawBuilder<unknown> =>
  sql`select id, level from reached_namespaces(${userId}, ${sql.lit(minLevel)})`;

/** The projects that are shared with a group that a user's memberships reach, with the level. */
export const sharedProjects = (userId: number, minLevel: number = LEVELS.guest): RawBuilder<unknown> =>
  sql`select id, level from shared_projects(${userId}, ${sql.lit(minLevel)})`;

/** The projects that a user belongs to themselves, with the level. */
export const ownMemberships = (userId: number, minLevel: number = LEVELS.guest): RawBuilder<unknown> => sql`
  select m.project_id as id, m.access_level as level from members m
  where m.user_id = ${userId} and m.project_id is not null and m.access_level >= ${sql.lit(minLevel)}
    and ${sql.raw(live("m"))}`;
