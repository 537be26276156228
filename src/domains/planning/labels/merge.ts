import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Namesake } from "#domains/planning/items/namesakes.ts";

const BATCH_ISSUES = 1000;

/**
 * Moves the links and events of a namesake to another label, in the next issues of its project. Returns the number of the
 * last issue, or undefined if there are none left. The issues are locked, as for every change of their labels.
 */
export async function moveBatchOfLinks(
  tx: Tx,
  { id: from, project_id }: Namesake,
  to: number,
  afterIid: number,
): Promise<number | undefined> {
  const { rows: batch } = await sql<{ id: number; iid: number }>`
    select id, iid from issues where project_id = ${project_id} and iid > ${afterIid}
    order by iid limit ${sql.lit(BATCH_ISSUES)}`.execute(tx);
  if (batch.length === 0 || !(await lockAgainstDeletion(tx, to))) return undefined;
  const { rows: locked } = await sql<{ id: number }>`
    select i.id from issues i where i.id = any(${batch.map(({ id }) => id)}::bigint[]) and (
      exists (select from label_links ll where ll.issue_id = i.id and ll.label_id = ${from})
      or exists (select from label_events e where e.issue_id = i.id and e.label_id = ${from}))
    order by i.id for update of i`.execute(tx);
  const issueIds = locked.map(({ id }) => id);
  if (issueIds.length > 0) await moveLinks(tx, issueIds, from, to);
  return batch.at(-1)?.iid;
}

async function lockAgainstDeletion(tx: Tx, labelId: number): Promise<boolean> {
  const found = await tx.selectFrom("labels").select("id").where("id", "=", labelId).forKeyShare().executeTakeFirst();
  return found !== undefined;
}

async function moveLinks(tx: Tx, issueIds: readonly number[], from: number, to: number) {
  const moved = sql`issue_id = any(${issueIds}::bigint[]) and label_id = ${from}`;
  await sql`
    insert into label_links (issue_id, label_id) select issue_id, ${to}::bigint from label_links where ${moved}
    on conflict do nothing`.execute(tx);
  await sql`delete from label_links where ${moved}`.execute(tx);
  await sql`update label_events set label_id = ${to} where ${moved}`.execute(tx);
  // An issue may have had both labels and lost one: to the merged label, nothing was removed.
  await sql`
    delete from label_events e where e.issue_id = any(${issueIds}::bigint[]) and e.label_id = ${to} and e.action = 'remove'
      and exists (select from label_links ll where ll.issue_id = e.issue_id and ll.label_id = ${to})
      and not exists (
        select from label_events later where later.issue_id = e.issue_id and later.label_id = ${to}
          and later.action = 'add' and later.id > e.id)`.execute(tx);
}

/** Deletes a namesake that has no links left; false if another transaction just added one. */
export async function removeNamesake(tx: Tx, { id }: Namesake, mergedInto: number): Promise<boolean> {
  // Waits for transactions that add the label to an issue.
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
