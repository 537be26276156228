import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { LEVELS } from "#access/roles.ts";
import { belongsTo, visibleTo } from "#access/visible.ts";
import type { Db } from "#db/database.ts";

/** A project has no bound on its issues; this many also means that there are more. */
export const MAX_COUNTED = 10_000;

/**
 * How many open issues projects have, by their ids: confidential ones only for those who see them because of their
 * role, and none where the actor may not use issues.
 */
export async function openIssueCounts(db: Db, actor: Actor, ids: readonly number[]): Promise<Map<number, number>> {
  const seesConfidential = isAdministrator(actor) ? sql`true` : belongsTo(actor.user.id, LEVELS.planner);
  const { rows } = await sql<{ id: number; count: number }>`
    select p.id, opened.count
    from (
      select p.id, ${seesConfidential} as sees_confidential
      from projects p where p.id = any(${ids}::bigint[]) and ${visibleTo(actor, { feature: "issues" })}
    ) p cross join lateral (
      select count(*) as count from (
        select from issues i
        where i.project_id = p.id and i.state = 'opened' and (not i.confidential or p.sees_confidential)
        limit ${sql.lit(MAX_COUNTED)}) counted
    ) opened`.execute(db);
  return new Map(rows.map(({ id, count }) => [id, count]));
}
