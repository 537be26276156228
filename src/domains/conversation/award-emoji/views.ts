import type { Db } from "#db/database.ts";
import { usersById } from "#domains/identity/users/summaries.ts";
import { type AwardEmoji, presentAward } from "./entity.ts";
import { type Awardable, type AwardRow, noAward } from "./queries.ts";

/** Presents awards of one thing in the order of the rows, with one statement for all users. */
export async function awardViews(
  db: Db,
  rows: readonly AwardRow[],
  thing: Awardable,
  site: string,
): Promise<AwardEmoji[]> {
  const userIds = rows.map(({ user_id }) => user_id);
  const users = await usersById(db, userIds, site);
  return rows.map((row) => presentAward(row, thing, users.get(row.user_id)));
}

export async function awardView(db: Db, row: AwardRow, thing: Awardable, site: string): Promise<AwardEmoji> {
  const [view] = await awardViews(db, [row], thing, site);
  return view ?? noAward();
}
