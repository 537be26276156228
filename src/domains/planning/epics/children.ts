import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { order } from "#db/lists/order.ts";
import { epicVisibleTo } from "#domains/planning/items/visibility.ts";
import type { EpicWrite } from "./new-epic.ts";
import type { NewPosition } from "./params.ts";
import { recordParent } from "./parents.ts";
import { reposition } from "./positions.ts";
import { type EpicRow, epics, lockEpic, noEpic, visibleEpics } from "./queries.ts";
import { lockParents, lockChild, placeBelow } from "./tree.ts";

export const CHILDREN_PAGING = {
  id: "e.id",
  orders: {
    relative_position: order("e.relative_position", "bigint", { nulls: "last" }),
    created_at: order("e.created_at", "timestamptz"),
  },
} as const;

/** How many children a response shows that is no page. */
const MAX_SHOWN = 100;

/** The child epics of an epic that the actor may see. */
export const childrenOf = (db: Db, epicId: number, actor: Actor | null) =>
  visibleEpics(db, actor).where("e.parent_id", "=", epicId);

export const firstChildren = (db: Db, epicId: number, actor: Actor | null): Promise<EpicRow[]> =>
  childrenOf(db, epicId, actor)
    .orderBy(sql`e.relative_position nulls last, e.id`)
    .limit(sql.lit(MAX_SHOWN))
    .execute();

/** Places an epic below another, after its other child epics. */
export async function addChild({ tx, group, actor }: EpicWrite, iid: number, childId: number): Promise<EpicRow> {
  await lockParents(tx, group);
  const parent = await lockEpic(tx, group, actor, iid);
  const child = await lockChild(tx, actor, group, childId);
  if (child.parent_id === parent.id) return child;
  const relative_position = await placeBelow(tx, parent, child);
  return setParent({ tx, actor, child }, { parent_id: parent.id, relative_position });
}

/** Removes an epic from below another. */
export async function removeChild({ tx, group, actor }: EpicWrite, iid: number, childId: number): Promise<EpicRow> {
  await lockParents(tx, group);
  const parent = await lockEpic(tx, group, actor, iid);
  const child = await lockChild(tx, actor, group, childId);
  if (child.parent_id !== parent.id) return noEpic();
  return setParent({ tx, actor, child }, { parent_id: null, relative_position: null });
}

async function setParent(
  { tx, actor, child }: Pick<EpicWrite, "tx" | "actor"> & { readonly child: EpicRow },
  columns: { readonly parent_id: number | null; readonly relative_position: number | null },
): Promise<EpicRow> {
  const update = tx.updateTable("epics").set({ ...columns, updated_at: sql`now()` });
  await update.where("id", "=", child.id).execute();
  await recordParent(tx, child, columns.parent_id, actor.user.id);
  return epics(tx).where("e.id", "=", child.id).executeTakeFirstOrThrow();
}

/** Moves a child epic next to another one. */
export async function moveChild(
  { tx, group, actor }: EpicWrite,
  iid: number,
  childId: number,
  position: NewPosition,
): Promise<EpicRow> {
  await lockParents(tx, group);
  const parent = await lockEpic(tx, group, actor, iid);
  const visible = sql`select e.id from epics e join namespaces n on n.id = e.group_id
    where e.parent_id = ${parent.id} and ${epicVisibleTo(actor)}`;
  await reposition(tx, { table: "epics", epicId: parent.id, visible }, childId, position);
  return parent;
}
