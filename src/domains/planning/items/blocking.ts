import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { issueVisibleTo } from "./visibility.ts";

/**
 * How many open issues each of some issues blocks, of those that the actor may see; issues without any are left out.
 * The counts depend on the viewer, so they are never stored.
 */
export async function blockingCounts(
  db: Db,
  issueIds: readonly number[],
  actor: Actor | null,
): Promise<ReadonlyMap<number, number>> {
  const { rows } = await sql<{ id: number; count: number }>`
    select b.source_id as id, count(*) as count
    from issue_links b join issues i on i.id = b.target_id join projects p on p.id = i.project_id
    where b.source_id = any(${issueIds}::bigint[]) and b.link_type = 'blocks' and i.state = 'opened'
      and ${issueVisibleTo(actor)}
    group by b.source_id`.execute(db);
  return new Map(rows.map(({ id, count }) => [id, count]));
}
