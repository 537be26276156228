import { type RawBuilder, sql } from "kysely";
import type { Database } from "#db/types.ts";
import { removeBatch, removeOfContainers } from "#domains/foundation/deletions/batches.ts";
import type { Batch } from "#domains/foundation/deletions/deletions.ts";
import type { ItemKind } from "#domains/conversation/items/item.ts";

export const removeWhere =
  (table: keyof Database, column: string, ids: (containerIds: readonly number[]) => RawBuilder<unknown>): Batch =>
  (tx, containerIds) =>
    removeBatch(tx, table, sql`${sql.ref(column)} in (${ids(containerIds)})`);

export const idsIn = (table: keyof Database, container: string) => (containerIds: readonly number[]) =>
  sql`select id from ${sql.table(table)} where ${sql.ref(container)} = any(${containerIds}::bigint[])`;

/** Whatever belongs to the items of deleted containers. It goes first, so that no batch of items takes more rows along. */
function removalsAround({ column, table: items, container, people }: ItemKind): Batch[] {
  const itemIds = idsIn(items, `${container}_id`);
  const notesOn = (containerIds: readonly number[]) =>
    sql`select id from notes where ${sql.ref(column)} in (${itemIds(containerIds)})`;
  return [
    removeWhere("award_emoji", "note_id", notesOn),
    ...(["award_emoji", "todos", "subscriptions", "notes", "label_events", "label_links", ...people] as const).map(
      (table) => removeWhere(table, column, itemIds),
    ),
  ];
}

/** The items of deleted containers, with all that belongs to them. */
export function removalsOfItems(kind: ItemKind): Batch[] {
  return [...removalsAround(kind), removeOfContainers(kind.table, `${kind.container}_id`)];
}
