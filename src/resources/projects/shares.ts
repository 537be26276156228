import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/actor.ts";
import type { GroupSeen, ProjectSeen } from "#access/containers.ts";
import { live } from "#access/levels.ts";
import { groupVisibleTo } from "#access/visible.ts";
import type { Db, Tx } from "#db/database.ts";
import { conflict, forbidden } from "#lib/refusal.ts";
import { refusePastDay } from "#resources/members/actions.ts";
import { fullName, namespaces } from "#resources/namespaces/queries.ts";
import { matches } from "#resources/namespaces/search.ts";
import { addShare, type NewShareRow, type Terms } from "#resources/shares/actions.ts";

/** Opens a project to the members of a group, up to a level that the caller has themselves. */
export async function shareProject(
  tx: Tx,
  actor: Actor,
  project: ProjectSeen,
  group: GroupSeen,
  terms: Terms,
): Promise<NewShareRow> {
  if (terms.group_access > project.level && !isAdministrator(actor)) throw forbidden();
  if (project.traversal_ids.includes(group.id)) throw conflict("The project is in this group already");
  await refusePastDay(tx, terms.expires_at);
  return addShare(tx, "project", project.id, group.id, terms);
}

interface GroupsAsked {
  readonly search?: string;
  readonly skip_groups?: readonly number[];
  readonly with_shared?: boolean;
  readonly shared_min_access_level?: number;
}

/** The groups that a project is in and, where asked for, those that it is shared with, as far as the caller sees them. */
export function groupsOfProject(db: Db, actor: Actor | null, project: ProjectSeen, asked: GroupsAsked) {
  const { search, skip_groups: skipped, shared_min_access_level: least = 0 } = asked;
  const shared = sql`select s.with_group_id from shares s
    where s.project_id = ${project.id} and s.access_level >= ${least} and ${sql.raw(live("s"))}`;
  const conditions = [
    groupVisibleTo(actor),
    asked.with_shared
      ? sql<boolean>`(n.id = any(${project.traversal_ids}::bigint[]) or n.id in (${shared}))`
      : sql<boolean>`n.id = any(${project.traversal_ids}::bigint[])`,
    ...(skipped ? [sql<boolean>`n.id <> all(${skipped}::bigint[])`] : []),
    ...(search?.trim() ? [matches(search, sql`n.search_text`)] : []),
  ];
  const groups = namespaces(db).select(fullName("n").as("full_name")).where("n.kind", "=", "group");
  return conditions.reduce((query, condition) => query.where(condition), groups);
}
