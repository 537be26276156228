import { type RawBuilder, sql } from "kysely";
import { LEVELS } from "./roles.ts";

/** A membership or share counts until the day that it names begins, by the clock of PostgreSQL. */
export const live = (alias: string) =>
  `(${alias}.expires_at is null or ${alias}.expires_at > (now() at time zone 'UTC')::date)`;

/** A membership that reaches what is below its group. */
const reaching = (alias: string) => `${alias}.access_level >= ${LEVELS.guest} and ${live(alias)}`;

/** Levels of `user` by membership in a group that what `shared` says of `shares as s` is shared with, or one above it. */
export const byShares = (user: string, shared: string) => `
  select least(s.access_level, m.access_level) as access_level
  from shares s join namespaces w on w.id = s.with_group_id join members m on m.group_id = any(w.traversal_ids)
  where ${shared} and ${live("s")} and m.user_id = ${user} and ${reaching("m")}`;

/** Levels of `user` by membership in the groups that `namespaces as n` is in, and of what those are shared with. */
const inherited = (user: string) => `
  select m.access_level from members m
  where m.group_id = any(n.traversal_ids) and m.user_id = ${user} and ${reaching("m")}
  union all ${byShares(user, "s.group_id = any(n.traversal_ids)")}`;

/** The level of `user` in `projects as p` with `namespaces as n`: the highest that any way gives, 0 for none. */
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

/** The namespaces that a user's groups and their shares reach, each with the highest level there. */
export const reachedNamespaces = (userId: number, least: number = LEVELS.guest): RawBuilder<unknown> =>
  sql`select id, level from reached_namespaces(${userId}, ${sql.lit(least)})`;

/** The projects that are shared with a group that a user's memberships reach, with the level. */
export const sharedProjects = (userId: number, least: number = LEVELS.guest): RawBuilder<unknown> =>
  sql`select id, level from shared_projects(${userId}, ${sql.lit(least)})`;

/** The projects that a user belongs to themselves, with the level. */
export const ownMemberships = (userId: number, least: number = LEVELS.guest): RawBuilder<unknown> => sql`
  select m.project_id as id, m.access_level as level from members m
  where m.user_id = ${userId} and m.project_id is not null and m.access_level >= ${sql.lit(least)}
    and ${sql.raw(live("m"))}`;
