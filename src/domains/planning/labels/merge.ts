import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { idOfRow, type ItemKind, rowsOf } from "#domains/conversation/items/item.ts";
import type { Namesake } from "#domains/planning/items/namesakes.ts";

const BATCH_ITEMS = 1000;

/**
 * Moves the links and events of a namesake to another label, in the next items of one kind in its project. Returns the
 * number of the last item, or undefined if there are none left. The items are locked, as for every change of their labels.
 */
export async function moveBatchOfLinks(
  tx: Tx,
  kind: ItemKind,
  { id: from, project_id }: Namesake,
  to: number,
  afterIid: number,
): Promise<number | undefined> {
  const id = idOfRow(kind);
  const { rows: batch } = await sql<{ id: number; iid: number }>`
    select id, iid from ${sql.table(kind.table)} where project_id = ${project_id} and iid > ${afterIid}
    order by iid limit ${sql.lit(BATCH_ITEMS)}`.execute(tx);
  if (batch.length === 0 || !(await lockAgainstDeletion(tx, to))) return undefined;
  const { rows: locked } = await sql<{ id: number }>`
    select ${id} from ${rowsOf(kind)} where ${id} = any(${batch.map((row) => row.id)}::bigint[]) and (
      exists (select from label_links ll where ${sql.ref(`ll.${kind.column}`)} = ${id} and ll.label_id = ${from})
      or exists (select from label_events ev where ${sql.ref(`ev.${kind.column}`)} = ${id} and ev.label_id = ${from}))
    order by 1 for update`.execute(tx);
  const itemIds = locked.map((row) => row.id);
  if (itemIds.length > 0) await moveLinks(tx, kind, itemIds, from, to);
  return batch.at(-1)?.iid;
}

async function lockAgainstDeletion(tx: Tx, labelId: number): Promise<boolean> {
  const found = await tx.selectFrom("labels").select("id").where("id", "=", labelId).forKeyShare().executeTakeFirst();
  return found !== undefined;
}

async function moveLinks(tx: Tx, { column }: ItemKind, itemIds: readonly number[], from: number, to: number) {
  const item = sql.ref(column);
  const of = (alias: string) => sql.ref(`${alias}.${column}`);
  const moved = sql`${item} = any(${itemIds}::bigint[]) and label_id = ${from}`;
  await sql`
    insert into label_links (${item}, label_id) select ${item}, ${to}::bigint from label_links where ${moved}
    on conflict do nothing`.execute(tx);
  await sql`delete from label_links where ${moved}`.execute(tx);
  await sql`update label_events set label_id = ${to} where ${moved}`.execute(tx);
  // An item may have had both labels and lost one: to the merged label, nothing was removed.
  await sql`
    delete from label_events ev where ${of("ev")} = any(${itemIds}::bigint[]) and ev.label_id = ${to}
      and ev.action = 'remove'
      and exists (select from label_links ll where ${of("ll")} = ${of("ev")} and ll.label_id = ${to})
      and not exists (
        select from label_events later where ${of("later")} = ${of("ev")} and later.label_id = ${to}
          and later.action = 'add' and later.id > ev.id)`.execute(tx);
}

/** Deletes a namesake that has no links left; false if another transaction just added one. */
export async function removeNamesake(tx: Tx, { id }: Namesake, mergedInto: number): Promise<boolean> {
  // Waits for transactions that add the label to an item.
  const locked = await tx.selectFrom("labels").select("id").where("id", "=", id).forUpdate().executeTakeFirst();
  if (!locked || !(await lockAgainstDeletion(tx, mergedInto))) return true;
  const link = await tx.selectFrom("label_links").select("label_id").where("label_id", "=", id).executeTakeFirst();
  if (link) return false;
  await sql`
    insert into label_priorities (project_id, label_id, priority)
    select project_id, ${mergedInto}::bigint, priority from label_priorities where label_id = ${id}
    on conflict do nothing`.execute(tx);
  await tx.deleteFrom("labels").where("id", "=", id).execute();
  return true;
}
