import { sql } from "kysely";
import { archivedAbove } from "#access/containers.ts";
import { byShares, levelInGroup, live } from "#access/levels.ts";
import type { Db } from "#db/database.ts";
import { fullName, namespaces } from "#domains/foundation/namespaces/queries.ts";
import { summaryColumns } from "#domains/identity/users/queries.ts";
import { LONG_PREFERENCES, preferenceColumns } from "./preferences.ts";

const projectColumns = [
  "p.id",
  "p.namespace_id",
  "p.visibility",
  "p.archived",
  "p.star_count",
  "p.created_at",
  "p.updated_at",
  "p.last_activity_at",
  "p.name",
  "p.path",
  "p.topics",
  "p.description",
  "p.default_branch",
  "p.repository_storage",
  "p.creator_id",
  "p.forks_count",
  ...preferenceColumns,
  "p.avatar_file",
  "p.marked_for_deletion_at",
] as const;

export const projects = (db: Db) =>
  db.selectFrom("projects as p").select([...projectColumns, "p.preferences", sql<boolean>`false`.as("listed")]);

/** For lists: without the long preferences. */
export const listedProjects = (db: Db): Projects =>
  db
    .selectFrom("projects as p")
    .select([
      ...projectColumns,
      sql`p.preferences - ${sql.lit(`{${LONG_PREFERENCES.join()}}`)}::text[]`.as("preferences"),
      sql<boolean>`true`.as("listed"),
    ]);

export type Projects = ReturnType<typeof projects>;
export type ProjectRow = Awaited<ReturnType<Projects["executeTakeFirstOrThrow"]>>;

export const archivedGroups = sql`
  select s from namespaces a cross join subtree(a.traversal_ids, a.subtree_end) s where a.archived`;
/** Whether the row of `projects as p` is archived, by itself or by a group above. */
export const isArchived = sql<boolean>`(p.archived or p.namespace_id in (${archivedGroups}))`;

/** The namespaces of projects, with what projects inherit from them. */
export const namespacesOfProjects = (db: Db, ids: readonly number[]) =>
  namespaces(db)
    .select([fullName("n").as("full_name"), sql<boolean>`${sql.raw(archivedAbove)}`.as("archived")])
    .where("n.id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();

export type NamespaceOfProjects = Awaited<ReturnType<typeof namespacesOfProjects>>[number];

/** The state of the repositories of projects. */
export const repositoriesOf = (db: Db, projectIds: readonly number[]) =>
  db
    .selectFrom("repositories")
    .select(["project_id", "pushed_at", "readme"])
    .where("project_id", "=", sql<number>`any(${projectIds}::bigint[])`)
    .execute();

export type RepositoryOfProject = Awaited<ReturnType<typeof repositoriesOf>>[number];

/** The users who have these personal namespaces. */
export const ownersOf = (db: Db, namespaceIds: readonly number[]) =>
  db
    .selectFrom("users as u")
    .select([...summaryColumns, "u.namespace_id"])
    .where("u.namespace_id", "=", sql<number>`any(${namespaceIds}::bigint[])`)
    .execute();

export interface Levels {
  readonly id: number;
  /** From a membership in the project itself. */
  readonly own: number | null;
  /** From groups above and from shares. */
  readonly by_group: number;
}

/** A user's levels in some projects, by their origin. */
export async function levelsIn(db: Db, userId: number, projectIds: readonly number[]): Promise<Levels[]> {
  const { rows } = await sql<Levels>`
    select p.id,
      (select m.access_level from members m
        where m.project_id = p.id and m.user_id = asked.user_id and ${sql.raw(live("m"))}) as own,
      greatest(${sql.raw(levelInGroup("asked.user_id"))}, (
        select max(access_level) from (${sql.raw(byShares("asked.user_id", "s.project_id = p.id"))}) ways)) as by_group
    from (select ${userId}::bigint as user_id) asked
      cross join projects p join namespaces n on n.id = p.namespace_id
    where p.id = any(${projectIds}::bigint[])`.execute(db);
  return rows;
}

export type Owner = Awaited<ReturnType<typeof ownersOf>>[number];
