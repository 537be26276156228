import { type RawBuilder, sql } from "kysely";
import type { Feature } from "#access/features.ts";
import { levelInProject } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import type { Db } from "#db/database.ts";
import type { People } from "#domains/conversation/items/item.ts";
import { usableByUser } from "./visibility.ts";
import { SEES_CONFIDENTIAL } from "#domains/conversation/notes/visibility.ts";

/** Whether the row of `users as u` is one of some people, and active. */
export const isActiveAmong = (people: People): RawBuilder<boolean> =>
  typeof people[0] === "number"
    ? sql`u.id = any(${people}::bigint[]) and u.state = 'active'`
    : sql`lower(u.username) = any(${people}::text[]) and u.state = 'active'`;

/** Whether the row of `users as u` sees what is confidential in the row of `projects as p` because of a role there. */
export const seesConfidential = sql<boolean>`${sql.raw(levelInProject("u.id"))} >= ${sql.lit(LEVELS[SEES_CONFIDENTIAL])}`;

/** Those of some people who may use a feature of a project and meet a condition. */
export async function readersInProject(
  db: Db,
  projectId: number,
  feature: Feature,
  people: People,
  condition: RawBuilder<unknown>,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select u.id from users u, projects p join namespaces n on n.id = p.namespace_id
    where ${isActiveAmong(people)} and p.id = ${projectId}
      and ${usableByUser(feature)} and ${condition} order by u.id`.execute(db);
  return rows.map(({ id }) => id);
}
