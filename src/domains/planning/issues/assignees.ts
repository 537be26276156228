import { sql } from "kysely";
import { levelInProject } from "#access/levels.ts";
import { LEVELS, VISIBILITIES } from "#access/roles.ts";
import type { Db, Tx } from "#db/database.ts";

/** Those of some users, in their order, who may use the issues of a project and are active. */
export async function possibleAssignees(db: Db, projectId: number, ids: readonly number[]): Promise<number[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: number }>`
    select u.id from users u, projects p join namespaces n on n.id = p.namespace_id
    where u.id = any(${ids}::bigint[]) and u.state = 'active' and p.id = ${projectId}
      and p.issues_access_level <> 'disabled'
      and (u.admin or (p.issues_access_level = 'enabled' and p.visibility >= case
          when u.external then ${sql.lit(VISIBILITIES.public)} else ${sql.lit(VISIBILITIES.internal)} end)
        or ${sql.raw(levelInProject("u.id"))} >= ${sql.lit(LEVELS.guest)})`.execute(db);
  const possible = new Set(rows.map(({ id }) => id));
  return [...new Set(ids)].filter((id) => possible.has(id));
}

interface Assignees {
  readonly assignee_ids?: readonly number[] | null;
  readonly assignee_id?: number | null;
}

/** The assignees that a request names, by a list or one; undefined if it names none. */
export function namedAssignees({ assignee_ids, assignee_id }: Assignees): readonly number[] | undefined {
  if (assignee_ids !== undefined) return assignee_ids ?? [];
  return assignee_id === undefined ? undefined : assignee_id ? [assignee_id] : [];
}

/** Replaces the assignees of an issue, and returns whether there was anything to change. */
export async function setAssignees(tx: Tx, issueId: number, userIds: readonly number[]): Promise<boolean> {
  const { rows } = await sql<{ changed: boolean }>`
    with added as (
      insert into issue_assignees (issue_id, user_id) select ${issueId}, unnest(${userIds}::bigint[])
      on conflict do nothing returning 1
    ), removed as (
      delete from issue_assignees where issue_id = ${issueId} and not (user_id = any(${userIds}::bigint[])) returning 1
    )
    select exists (select from added) or exists (select from removed) as changed`.execute(tx);
  return rows[0]?.changed === true;
}
