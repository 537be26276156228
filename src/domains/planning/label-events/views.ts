import type { Static } from "typebox";
import type { Db } from "#db/database.ts";
import { presentSummary } from "#domains/identity/users/present.ts";
import { summariesOf } from "#domains/identity/users/queries.ts";
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
  const userIds = [...new Set(rows.flatMap(({ user_id }) => user_id ?? []))];
  const users = new Map((await summariesOf(db, userIds)).map((user) => [user.id, presentSummary(site)(user)]));
  return rows.map((row) => presentLabelEvent(row, item, users.get(row.user_id ?? 0)));
}

export async function labelEventView(db: Db, row: LabelEventRow, item: Item, site: string): Promise<View> {
  const { user_id } = row;
  const [user] = user_id === null ? [] : await summariesOf(db, [user_id]);
  return presentLabelEvent(row, item, user && presentSummary(site)(user));
}
