import { sql } from "kysely";
import Type, { type Static } from "typebox";
import type { Databases, Db } from "#db/database.ts";
import { collectListed, countListed, type Listing, MAX_TOTAL } from "#db/lists/list-page.ts";

const exact = { additionalProperties: false };
const Counted = Type.Integer({ description: `At most ${MAX_TOTAL}, which then means that there are as many or more` });

export const IssueStatistics = Type.Object(
  {
    statistics: Type.Object({ counts: Type.Object({ all: Counted, closed: Counted, opened: Counted }, exact) }, exact),
  },
  { ...exact, title: "IssueStatistics" },
);

/**
 * How many issues of a list are open and closed. Those that filters leave are collected as for a page of the list;
 * if there are too many candidates, counting stops where the totals of lists do.
 */
export async function statisticsOf(databases: Databases, listing: Listing): Promise<Static<typeof IssueStatistics>> {
  const ids = await collectListed(databases.readAnew, listing);
  const counts = ids ? await countByState(databases.read, ids) : await countUpToTotal(databases, listing);
  return { statistics: { counts: { all: Math.min(counts.opened + counts.closed, MAX_TOTAL), ...counts } } };
}

async function countByState(db: Db, ids: readonly number[]) {
  const { rows } = await sql<{ opened: number; closed: number }>`
    select count(*) filter (where state = 'opened') as opened, count(*) filter (where state = 'closed') as closed
    from issues where id = any(${ids}::bigint[])`.execute(db);
  return rows[0]!;
}

async function countUpToTotal(databases: Databases, listing: Listing) {
  const count = (state: "opened" | "closed") =>
    countListed(databases, { ...listing, filters: [...(listing.filters ?? []), sql`i.state = ${sql.lit(state)}`] });
  return { opened: await count("opened"), closed: await count("closed") };
}
