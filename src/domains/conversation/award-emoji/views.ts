import type { Db } from "#db/database.ts";
import { presentSummary } from "#domains/identity/users/present.ts";
import { summariesOf } from "#domains/identity/users/queries.ts";
import { type AwardEmoji, presentAward } from "./entity.ts";
import { type Awardable, type AwardRow, noAward } from "./queries.ts";

/** Presents awards of one thing in the order of the rows, with one statement for all users. */
export async function awardViews(
  db: Db,
  rows: readonly AwardRow[],
  thing: Awardable,
  site: string,
): Promise<AwardEmoji[]> {
  const people = await summariesOf(db, [...new Set(rows.map(({ user_id }) => user_id))]);
  const users = new Map(people.map((user) => [user.id, presentSummary(site)(user)]));
  return rows.map((row) => presentAward(row, thing, users.get(row.user_id)));
}

export async function awardView(db: Db, row: AwardRow, thing: Awardable, site: string): Promise<AwardEmoji> {
  const [view] = await awardViews(db, [row], thing, site);
  return view ?? noAward();
}
