import { sql } from "kysely";
import type { Static } from "typebox";
import { live } from "#access/levels.ts";
import type { Db } from "#db/database.ts";
import type { AssociationsCount } from "./entity.ts";

const COUNTED = sql.lit(10_001);

/** A user's current memberships, of groups, projects or both. */
export function membershipsOf(db: Db, userId: number, kind: "Project" | "Namespace" | undefined) {
  const all = db
    .selectFrom("members as m")
    .leftJoin("namespaces as n", "n.id", "m.group_id")
    .leftJoin("projects as p", "p.id", "m.project_id")
    .select([
      "m.id",
      sql<number>`coalesce(m.group_id, m.project_id)`.as("source_id"),
      sql<string>`coalesce(n.name, p.name)`.as("source_name"),
      sql<string>`case when m.group_id is null then 'Project' else 'Namespace' end`.as("source_type"),
      "m.access_level",
    ])
    .where("m.user_id", "=", userId)
    .where(sql<boolean>`${sql.raw(live("m"))}`);
  if (kind === undefined) return all;
  return all.where(kind === "Project" ? "m.project_id" : "m.group_id", "is not", null);
}

/** Counts the groups and projects of a user, up to the limit of list totals. */
export async function associationsOf(db: Db, userId: number): Promise<Static<typeof AssociationsCount>> {
  const memberships = (column: "group_id" | "project_id") => sql<number>`(select count(*) from (
    select from members m where m.user_id = ${userId} and ${sql.ref(`m.${column}`)} is not null
      and ${sql.raw(live("m"))} limit ${COUNTED}) counted)`;
  const { rows } = await sql<{ groups: number; projects: number }>`select
    ${memberships("group_id")} as groups, ${memberships("project_id")} as projects`.execute(db);
  const { groups = 0, projects = 0 } = rows[0] ?? {};
  return { groups_count: groups, projects_count: projects, issues_count: 0, merge_requests_count: 0 };
}
