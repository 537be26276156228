import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { countsOf, type ItemCounts, NO_ITEM_COUNTS } from "#domains/planning/items/counts.ts";
import { issueVisibleTo } from "#domains/planning/items/visibility.ts";
import { ISSUE } from "./kind.ts";

export interface IssueCounts extends ItemCounts {
  /** The open issues that it blocks, of those that the actor may see. */
  readonly blocking: number;
}

export const NO_COUNTS: IssueCounts = { ...NO_ITEM_COUNTS, blocking: 0 };

/** What is counted around some issues. It depends on the viewer, so it is never stored. */
export async function issueCounts(
  db: Db,
  issueIds: readonly number[],
  actor: Actor | null,
  withSubscription: boolean,
): Promise<ReadonlyMap<number, IssueCounts>> {
  const { rows } = await sql<IssueCounts & { id: number }>`
    with blocked as (
      select b.source_id as id, count(*) as count
      from issue_links b join issues i on i.id = b.target_id join projects p on p.id = i.project_id
      where b.source_id = any(${issueIds}::bigint[]) and b.link_type = 'blocks' and i.state = 'opened'
        and ${issueVisibleTo(actor)}
      group by b.source_id
    )
    select i.id, coalesce(blocked.count, 0) as blocking, ${countsOf(ISSUE, actor, withSubscription)}
    from issues i join projects p on p.id = i.project_id left join blocked on blocked.id = i.id
    where i.id = any(${issueIds}::bigint[])`.execute(db);
  return new Map(rows.map(({ id, ...counts }) => [id, counts]));
}
