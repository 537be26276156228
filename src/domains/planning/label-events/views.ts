import type { Static } from "typebox";
import type { Db } from "#db/database.ts";
import { usersById } from "#domains/identity/users/summaries.ts";
import type { Item } from "#domains/conversation/items/item.ts";
import { type LabelEvent, presentLabelEvent } from "./entity.ts";
import type { LabelEventRow } from "./queries.ts";

type View = Static<typeof LabelEvent>;

/** Presents events of one item in the order of the rows, with one statement for all users. */
export async function labelEventViews(
  db: Db,
  rows: readonly LabelEventRow[],
  item: Item,
  site: string,
): Promise<View[]> {
  const userIds = rows.map(({ user_id }) => user_id);
  const users = await usersById(db, userIds, site);
  return rows.map((row) => presentLabelEvent(row, item, users.get(row.user_id)));
}

export async function labelEventView(db: Db, row: LabelEventRow, item: Item, site: string): Promise<View> {
  const [view] = await labelEventViews(db, [row], item, site);
  return view!;
}
