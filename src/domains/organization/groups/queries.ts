import { sql } from "kysely";
import { archivedAbove, type ProjectSeen } from "#access/containers.ts";
import { live } from "#access/levels.ts";
import type { Actor } from "#access/principal.ts";
import { groupVisibleTo } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import { fullName, fullPath, namespaces } from "#domains/foundation/namespaces/queries.ts";
import { matches } from "#domains/organization/namespaces/search.ts";

/** What every view of a group shows, for statements with `namespaces` as `n`. */
export const groupColumns = [
  "n.id",
  "n.name",
  "n.path",
  "n.description",
  "n.visibility",
  "n.parent_id",
  "n.project_creation_level",
  "n.subgroup_creation_level",
  "n.preferences",
  "n.avatar_file",
  "n.created_at",
  sql<string | null>`(n.marked_for_deletion_at at time zone 'UTC')::date`.as("marked_for_deletion_on"),
  fullPath("n").as("full_path"),
  fullName("n").as("full_name"),
  sql<boolean>`${sql.raw(archivedAbove)}`.as("archived"),
] as const;

export const groups = (db: Db) => db.selectFrom("namespaces as n").select(groupColumns);

export type Groups = ReturnType<typeof groups>;
export type GroupRow = Awaited<ReturnType<Groups["executeTakeFirstOrThrow"]>>;

interface ProjectGroupFilters {
  readonly search?: string;
  readonly skip_groups?: readonly number[];
  readonly with_shared?: boolean;
  readonly shared_min_access_level?: number;
}

/** The visible groups above a project and, if requested, those that it is shared with. */
export function groupsOfProject(db: Db, actor: Actor | null, project: ProjectSeen, filters: ProjectGroupFilters) {
  const { search, skip_groups: skipped, shared_min_access_level: least = 0 } = filters;
  const shared = sql`select s.with_group_id from shares s
    where s.project_id = ${project.id} and s.access_level >= ${least} and ${sql.raw(live("s"))}`;
  const conditions = [
    groupVisibleTo(actor),
    filters.with_shared
      ? sql<boolean>`(n.id = any(${project.traversal_ids}::bigint[]) or n.id in (${shared}))`
      : sql<boolean>`n.id = any(${project.traversal_ids}::bigint[])`,
    ...(skipped ? [sql<boolean>`n.id <> all(${skipped}::bigint[])`] : []),
    ...(search?.trim() ? [matches(search, sql`n.search_text`)] : []),
  ];
  const groups = namespaces(db).select(fullName("n").as("full_name")).where("n.kind", "=", "group");
  return conditions.reduce((query, condition) => query.where(condition), groups);
}
