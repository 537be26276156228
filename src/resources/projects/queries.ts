import { sql } from "kysely";
import { groupVisibleTo } from "#access/visible.ts";
import { levelInGroup, live } from "#access/levels.ts";
import { type Actor } from "#access/actor.ts";
import { LEVELS } from "#access/roles.ts";
import type { Db } from "#db/database.ts";
import { fullName, fullPath, namespaces } from "#resources/namespaces/queries.ts";
import { summaryColumns } from "#resources/users/queries.ts";

export const projectColumns = [
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
  "p.preferences",
  "p.avatar_file",
  "p.marked_for_deletion_at",
] as const;

export const projects = (db: Db) => db.selectFrom("projects as p").select(projectColumns);

export type Projects = ReturnType<typeof projects>;
export type ProjectRow = Awaited<ReturnType<Projects["executeTakeFirstOrThrow"]>>;

const archived = sql<boolean>`exists (select from namespaces a where a.id = any(n.traversal_ids) and a.archived)`;

/** The namespaces that projects are in, with what their projects inherit of them. */
export const namespacesOfProjects = (db: Db, ids: readonly number[]) =>
  namespaces(db)
    .select([fullName("n").as("full_name"), archived.as("archived")])
    .where("n.id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();

export type NamespaceOfProjects = Awaited<ReturnType<typeof namespacesOfProjects>>[number];

/** The users whose own namespaces these are. */
export const ownersOf = (db: Db, namespaceIds: readonly number[]) =>
  db
    .selectFrom("users as u")
    .select([...summaryColumns, "u.namespace_id"])
    .where("u.namespace_id", "=", sql<number>`any(${namespaceIds}::bigint[])`)
    .execute();

export interface Levels {
  readonly id: number;
  /** By a membership in the project itself. */
  readonly own: number | null;
  /** By a group that it is in or shared with. */
  readonly by_group: number;
}

/** What a user is in each of some projects, and by which way. */
export async function levelsIn(db: Db, userId: number, projectIds: readonly number[]): Promise<Levels[]> {
  const { rows } = await sql<Levels>`
    select p.id,
      (select m.access_level from members m
        where m.project_id = p.id and m.user_id = asked.user_id and ${sql.raw(live("m"))}) as own,
      greatest(${sql.raw(levelInGroup("asked.user_id"))}, (
        select max(least(s.access_level, m.access_level))
        from shares s join namespaces w on w.id = s.with_group_id join members m on m.group_id = any(w.traversal_ids)
        where s.project_id = p.id and ${sql.raw(live("s"))}
          and m.user_id = asked.user_id and m.access_level >= ${sql.lit(LEVELS.guest)} and ${sql.raw(live("m"))}
      )) as by_group
    from (select ${userId}::bigint as user_id) asked
      cross join projects p join namespaces n on n.id = p.namespace_id
    where p.id = any(${projectIds}::bigint[])`.execute(db);
  return rows;
}

/** The groups that projects are shared with, as far as the caller may know of them. */
export const sharesOf = (db: Db, actor: Actor | null, projectIds: readonly number[]) =>
  db
    .selectFrom("shares as s")
    .innerJoin("namespaces as n", "n.id", "s.with_group_id")
    .select([
      "s.project_id",
      "s.with_group_id",
      "s.access_level",
      "s.expires_at",
      "n.name",
      fullPath("n").as("full_path"),
    ])
    .where("s.project_id", "=", sql<number>`any(${projectIds}::bigint[])`)
    .where(sql<boolean>`${sql.raw(live("s"))}`)
    .where(groupVisibleTo(actor))
    .orderBy("s.id")
    .execute();

export type ShareOfProject = Awaited<ReturnType<typeof sharesOf>>[number];
export type Owner = Awaited<ReturnType<typeof ownersOf>>[number];
