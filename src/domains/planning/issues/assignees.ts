import { sql } from "kysely";
import { levelInProject } from "#access/levels.ts";
import { LEVELS, VISIBILITIES } from "#access/roles.ts";
import type { Db } from "#db/database.ts";

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
