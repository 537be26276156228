import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { unprocessable } from "#lib/refusal.ts";
import type { LinkKind } from "./kinds.ts";

/** How many items a search for a circle visits. */
const MAX_VISITED = 10_000;

/**
 * Lets one transaction at a time add a link that blocks: two at once could close a circle that neither of them sees.
 * There is one lock for all, since a circle may pass through any number of groups.
 */
export const lockBlocking = (tx: Tx, { links }: Pick<LinkKind, "links">) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${`blocks in ${links}`}, 0))`.execute(tx);

/** Refuses a link by which `sourceId` would block `targetId`, if that already blocks it through others. */
export async function refuseCircle(
  tx: Tx,
  { links, item }: Pick<LinkKind, "links" | "item">,
  sourceId: number,
  targetId: number,
) {
  const { rows } = await sql<{ found: boolean; visited: number }>`
    with recursive blocked as (
      select ${targetId}::bigint as id
      union select l.target_id from blocked b join ${sql.table(links)} l on l.source_id = b.id and l.link_type = 'blocks'
    )
    select coalesce(bool_or(id = ${sourceId}), false) as found, count(*) as visited
    from (select id from blocked limit ${sql.lit(MAX_VISITED + 1)}) visited`.execute(tx);
  const { found = false, visited = 0 } = rows[0] ?? {};
  const items = `${item.word}s`;
  // Neither text names the items in between, which the caller may not be able to see.
  if (found) throw unprocessable(`The link would close a circle of ${items} that block each other`);
  if (visited > MAX_VISITED) throw unprocessable(`Too many ${items} are blocked to rule out a circle`);
}
