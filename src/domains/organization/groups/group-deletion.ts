import { sql } from "kysely";
import Type from "typebox";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import type { JobKind } from "#jobs/kind.ts";
import { badRequest, conflict, missing } from "#lib/refusal.ts";
import { fullPath } from "#domains/foundation/namespaces/queries.ts";
import { type DeletedUser, type DeletionContext, removeBatchOfRows } from "#domains/foundation/deletions/deletions.ts";
import { solelyOwnedGroups } from "#domains/identity/users/owned-groups.ts";
import { deleteGroups } from "#domains/storage/repositories/removal.ts";
import { closeAccount } from "#domains/identity/users/user-deletion.ts";

/** A group and when it was marked for deletion; the time tells this mark from a later one. */
export interface Marked {
  readonly id: number;
  readonly marked_at: string;
}

const Payload = Type.Object({ id: Type.Integer(), marked_at: Type.String() }, { additionalProperties: false });

/** The job that deletes a group, unless its mark has changed since the job was queued. */
export const groupRemoval: JobKind<typeof Payload> = {
  name: "groups.remove",
  queue: "bulk",
  payload: Payload,
  key: ({ id }) => String(id),
};

const now = sql<string>`now()`;
const markedAt = sql<string>`marked_for_deletion_at`.as("marked_at");

/** When a group last changed; it is locked against other changes. */
export async function changedAt(tx: Tx, id: number): Promise<string> {
  const group = await tx
    .selectFrom("namespaces")
    .select("updated_at")
    .where("id", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!group) throw missing("Group");
  return group.updated_at;
}

/** Marks a group for deletion; it can be restored until the restore period is over. */
export async function markForDeletion(tx: Tx, id: number): Promise<Marked> {
  const marked = await tx
    .updateTable("namespaces")
    .set({ marked_for_deletion_at: now, updated_at: now })
    .where("id", "=", id)
    .where("marked_for_deletion_at", "is", null)
    .returning(["id", markedAt])
    .executeTakeFirst();
  if (!marked) throw badRequest("Group has already been marked for deletion");
  return marked;
}

/** Marks groups for immediate deletion; an existing mark is kept. */
const markForImmediateDeletion = (tx: Tx, ids: readonly number[]): Promise<Marked[]> =>
  tx
    .updateTable("namespaces")
    .set({ marked_for_deletion_at: sql<string>`coalesce(marked_for_deletion_at, now())` })
    .where(sql<boolean>`id = any(${ids}::bigint[])`)
    .returning(["id", markedAt])
    .execute();

/** Finds a marked group for immediate deletion, which requires its exact full path. */
export async function requireMarkedGroup(tx: Tx, id: number, path: string | undefined): Promise<Marked> {
  const group = await tx
    .selectFrom("namespaces as n")
    .select(["n.id", "n.marked_for_deletion_at as marked_at", fullPath("n").as("full_path")])
    .where("n.id", "=", id)
    .executeTakeFirst();
  if (!group) throw missing("Group");
  if (group.marked_at === null) throw badRequest("Group must be marked for deletion first.");
  if (group.full_path !== path) {
    throw badRequest("`full_path` is incorrect. You must enter the complete path for the group.");
  }
  return { id, marked_at: group.marked_at };
}

export async function restoreGroup(tx: Tx, id: number) {
  const group = await tx
    .selectFrom("namespaces")
    .select(["marked_for_deletion_at", "removal_began_at"])
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  if (!group?.marked_for_deletion_at) throw badRequest("Group has not been marked for deletion");
  if (group.removal_began_at) throw conflict("The group is being removed");
  await tx
    .updateTable("namespaces")
    .set({ marked_for_deletion_at: null, updated_at: now })
    .where("id", "=", id)
    .execute();
}

/** A batch of groups whose restore period is over. */
export const overdueGroups = (tx: Tx, days: number, limit: number): Promise<Marked[]> =>
  tx
    .selectFrom("namespaces")
    .select(["id", markedAt])
    .where("marked_for_deletion_at", "<=", sql<string>`now() - make_interval(days => ${days})`)
    .orderBy("marked_for_deletion_at")
    .limit(sql.lit(limit))
    .execute();

/** Rules out a restore from now on; returns false if the group was restored or marked anew. */
export async function beginRemoval(tx: Tx, { id, marked_at }: Marked): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("namespaces")
    .set({ removal_began_at: sql<string>`coalesce(removal_began_at, now())` })
    .where("id", "=", id)
    .where("marked_for_deletion_at", "=", marked_at)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

const BATCH_ACCOUNTS = 500;
const BATCH_GROUPS = 500;
const BATCH_ROWS = 5000;

/** A batch of users of a kind that a group or a group below it provisioned. */
const provisionedBy = (id: number, kind: "service accounts" | "others", limit: number) => sql<{ id: number }>`
  select u.id from namespaces g
    join namespaces n on n.traversal_ids >= g.traversal_ids and n.traversal_ids < g.subtree_end
    join users u on u.provisioned_by_group_id = n.id
  where g.id = ${id} and u.removal_began_at is null
    and u.user_type ${sql.raw(kind === "others" ? "<>" : "=")} 'service_account'
  limit ${sql.lit(limit)}`;

/** Ends a batch of a group's service accounts, which are deleted with it; returns how many, like the next functions. */
export async function endBatchOfAccounts(tx: Tx, id: number, { jobs }: DeletionContext): Promise<number> {
  const { rows } = await provisionedBy(id, "service accounts", BATCH_ACCOUNTS).execute(tx);
  for (const account of rows) await closeAccount(tx, jobs, account.id, false);
  return rows.length;
}

/** Detaches a batch of people whom a group provisioned; their accounts stay. */
export async function releaseBatchOfUsers(tx: Tx, id: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update users set provisioned_by_group_id = null
    where id = any(array(${provisionedBy(id, "others", BATCH_ROWS)}))`.execute(tx);
  return Number(numAffectedRows);
}

/** Deletes a batch of empty groups below a group, or of their rows. */
export async function removeBatchOfGroups(tx: Tx, id: number, { jobs, deletions }: DeletionContext): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select n.id from namespaces g
      join namespaces n on n.traversal_ids > g.traversal_ids and n.traversal_ids < g.subtree_end
    where g.id = ${id} and not exists (select from namespaces c where c.parent_id = n.id)
    limit ${sql.lit(BATCH_GROUPS)}`.execute(tx);
  const ids = rows.map((row) => row.id);
  if (ids.length === 0) return 0;
  const removed = await removeBatchOfRows(tx, ids, deletions.ofGroups, { jobs });
  if (removed > 0) return removed;
  await removeGroups(tx, jobs, ids);
  return ids.length;
}

/** Deletes empty groups with the previous paths below them, whose groups and projects moved elsewhere. */
export async function removeGroups(tx: Tx, jobs: Jobs, ids: readonly number[]) {
  await sql`delete from routes where parent_id = any(${ids}::bigint[])`.execute(tx);
  await deleteGroups(tx, jobs, ids);
}

/** In a hard delete, queues the deletion of a batch of groups whose only Owner is the user. */
export async function removeSoleGroups(
  tx: Tx,
  { id: userId, newOwnerId }: DeletedUser,
  { jobs }: DeletionContext,
): Promise<number> {
  const groups = newOwnerId === null ? await solelyOwnedGroups(tx, userId) : [];
  if (groups.length === 0) return 0;
  const ids = groups.map(({ id }) => id);
  // A group below another of them is deleted with it.
  const topmost = groups.filter(
    ({ traversal_ids }) => !traversal_ids.slice(0, -1).some((above) => ids.includes(above)),
  );
  const marked = await markForImmediateDeletion(
    tx,
    topmost.map(({ id }) => id),
  );
  for (const group of marked) await jobs.add(tx, groupRemoval, group);
  await sql`delete from members where user_id = ${userId} and group_id = any(${ids}::bigint[])`.execute(tx);
  return groups.length;
}
