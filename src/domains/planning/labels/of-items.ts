import { sql } from "kysely";
import type { Db, Tx } from "#db/database.ts";
import { unprocessable } from "#lib/refusal.ts";
import type { Item } from "#domains/conversation/items/item.ts";
import { isAvailableIn, type LabelContainer, nearestFirst } from "#domains/planning/items/containers.ts";
import { MAX_LABELS } from "#domains/planning/items/params.ts";
import { labelsChanged, recordChanges } from "#domains/planning/items/system-notes.ts";

/** The colour of a label that is created because an item names it. */
const DEFAULT_COLOR = "#6699cc";

/** The labels that a container may use, as rows of `l`. */
export const availableLabels = (db: Db, container: LabelContainer) =>
  db.selectFrom("labels as l").where(isAvailableIn(container));

export interface NamedLabel {
  readonly id: number;
  readonly name: string;
}

/**
 * The labels with some names, locked against deletion. A project's own label comes before that of a group,
 * and that of a group before those of the groups above it. Missing ones are created if the caller may, else left out.
 */
export async function labelsByName(
  tx: Tx,
  container: LabelContainer,
  names: readonly string[],
  mayCreate: boolean,
): Promise<NamedLabel[]> {
  const wanted = [...new Set(names)];
  if (wanted.length === 0) return [];
  const found = await availableLabels(tx, container)
    .select(["l.id", "l.name"])
    .where("l.name", "=", sql<string>`any(${wanted}::text[])`)
    .orderBy(nearestFirst(container))
    .forKeyShare()
    .execute();
  // The first of a name is the nearest.
  const labels = new Map(found.toReversed().map((label) => [label.name, label]));
  // In one order, so that two requests for the same labels do not wait for each other.
  const missing = wanted.filter((name) => !labels.has(name)).toSorted();
  const created = mayCreate && missing.length > 0 ? await createLabels(tx, container, missing) : [];
  return [...labels.values(), ...created];
}

async function createLabels(tx: Tx, container: LabelContainer, names: readonly string[]): Promise<NamedLabel[]> {
  const owner = "project_id" in container ? { project_id: container.project_id } : { group_id: container.group_id };
  return (
    tx
      .insertInto("labels")
      .values(names.map((name) => ({ ...owner, name, color: DEFAULT_COLOR })))
      // Another request may have created it meanwhile; an update returns its row as well.
      .onConflict((conflict) =>
        conflict
          .column("project_id" in container ? "project_id" : "group_id")
          .column("name")
          .where("project_id" in container ? "project_id" : "group_id", "is not", null)
          .doUpdateSet({ name: sql`excluded.name` }),
      )
      .returning(["id", "name"])
      .execute()
  );
}

/** The labels of an item that a request names: all of them, and those to add and to remove. */
export interface LabelParams {
  readonly labels?: readonly string[] | null | undefined;
  readonly add_labels?: readonly string[] | null | undefined;
  readonly remove_labels?: readonly string[] | null | undefined;
}

/**
 * Applies what a request says about the labels of an item: `labels` first, then `add_labels`, then `remove_labels`.
 * The caller has locked the item. Missing labels are created. Returns whether anything changed.
 */
export async function applyLabels(
  tx: Tx,
  userId: number,
  container: LabelContainer,
  item: Item,
  { labels, add_labels: add, remove_labels: remove }: LabelParams,
): Promise<boolean> {
  if (labels === undefined && !add && !remove) return false;
  const current = await labelsOf(tx, item);
  const removedNames = new Set(remove ?? []);
  const currentNames = new Set(current.map(({ name }) => name));
  const idsOf = async (names: readonly string[] | null) => {
    const wanted = new Set(names ?? []).difference(removedNames);
    // The item may have another label of that name than the nearest one.
    const kept = current.filter(({ name }) => wanted.has(name));
    const others = await labelsByName(tx, container, [...wanted.difference(currentNames)], true);
    return [...kept, ...others].map(({ id }) => id);
  };
  const change: LabelChange = {
    ...(labels !== undefined && { set: await idsOf(labels) }),
    add: await idsOf(add ?? []),
    remove: current.filter(({ name }) => removedNames.has(name)).map(({ id }) => id),
  };
  return changeLabels(tx, userId, item, change);
}

const labelsOf = (tx: Tx, { kind, id }: Item): Promise<NamedLabel[]> =>
  tx
    .selectFrom("label_links as t")
    .innerJoin("labels as l", "l.id", "t.label_id")
    .select(["l.id", "l.name"])
    .where(sql<boolean>`${sql.ref(`t.${kind.column}`)} = ${id}`)
    .execute();

/** What to do with the labels of an item, by their ids: replace all, or add and remove some. */
export interface LabelChange {
  readonly set?: readonly number[];
  readonly add?: readonly number[];
  readonly remove?: readonly number[];
}

/**
 * Changes the labels of an item and records an event for each label that was added, then for each that was removed, and
 * one note. The caller has locked the item, so that its events are in the order of the changes. Returns whether anything
 * changed.
 */
export async function changeLabels(tx: Tx, userId: number, item: Item, change: LabelChange): Promise<boolean> {
  const { kind, id } = item;
  const itemId = sql.ref(kind.column);
  const added = [...new Set([...(change.set ?? []), ...(change.add ?? [])])];
  const removed = new Set(change.remove ?? []).difference(new Set(added));
  const isRemoved = change.set
    ? sql`not (label_id = any(${added}::bigint[]))`
    : sql`label_id = any(${[...removed]}::bigint[])`;
  const { rows: events } = await sql<{ label_id: number; action: "add" | "remove" }>`
    with added as (
      insert into label_links (${itemId}, label_id) select ${id}, unnest(${added}::bigint[])
      on conflict do nothing returning label_id
    ), removed as (
      delete from label_links where ${itemId} = ${id} and ${isRemoved} returning label_id
    ), changed as (
      select label_id, 'add' as action from added
      -- The link of a deleted label was no label any more.
      union all select label_id, 'remove' from removed join labels l on l.id = label_id
    )
    insert into label_events (${itemId}, user_id, label_id, action)
    select ${id}, ${userId}, label_id, action from changed order by action, label_id
    returning label_id, action`.execute(tx);
  if (events.length === 0) return false;
  if (events.some(({ action }) => action === "add")) await refuseTooMany(tx, item);
  const idsOf = (action: string) => events.flatMap((event) => (event.action === action ? event.label_id : []));
  await recordChanges(tx, item, userId, [labelsChanged(idsOf("add"), idsOf("remove"))]);
  return true;
}

async function refuseTooMany(tx: Tx, item: Item) {
  if ((await labelsOf(tx, item)).length > MAX_LABELS) {
    throw unprocessable(`An item can have at most ${MAX_LABELS} labels; remove some of them first`);
  }
}
