import { sql } from "kysely";
import Type, { type Static } from "typebox";
import type { Databases } from "#db/database.ts";
import { countListed, type Listing, MAX_TOTAL } from "#db/lists/list-page.ts";

const exact = { additionalProperties: false };
const Counted = Type.Integer({ description: `At most ${MAX_TOTAL}, which then means that there are as many or more` });

export const IssueStatistics = Type.Object(
  {
    statistics: Type.Object({ counts: Type.Object({ all: Counted, closed: Counted, opened: Counted }, exact) }, exact),
  },
  { ...exact, title: "IssueStatistics" },
);

/** How many issues of a list are open and closed; counting stops where the totals of lists do. */
export async function statisticsOf(databases: Databases, listing: Listing): Promise<Static<typeof IssueStatistics>> {
  const count = (state: "opened" | "closed") =>
    countListed(databases, { ...listing, filters: [...(listing.filters ?? []), sql`i.state = ${sql.lit(state)}`] });
  const opened = await count("opened");
  const closed = await count("closed");
  return { statistics: { counts: { all: Math.min(opened + closed, MAX_TOTAL), closed, opened } } };
}
