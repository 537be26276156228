import { sql } from "kysely";
import Type from "typebox";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import type { JobKind } from "#jobs/define.ts";
import { badRequest, conflict, missing } from "#lib/refusal.ts";
import { fullPath } from "#resources/namespaces/queries.ts";
import { deleteProjects } from "#resources/repositories/removal.ts";
import { endAccount } from "#resources/users/removal.ts";

/** A group and when it was marked for deletion: marked anew, it is another case. */
export interface Marked {
  readonly id: number;
  readonly marked_at: string;
}

const Payload = Type.Object({ id: Type.Integer(), marked_at: Type.String() }, { additionalProperties: false });

/** The job that removes a group that is still marked as it was then. */
export const groupRemoval: JobKind<typeof Payload> = {
  name: "groups.remove",
  queue: "bulk",
  payload: Payload,
  key: ({ id }) => String(id),
};

const now = sql<string>`now()`;
const markedAt = sql<string>`marked_for_deletion_at`.as("marked_at");

/** Marks a group for deletion; until its time is over it can be restored. */
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

/** Marks groups that are to be gone at once, whether they were marked before or not. */
export const markAnyway = (tx: Tx, ids: readonly number[]): Promise<Marked[]> =>
  tx
    .updateTable("namespaces")
    .set({ marked_for_deletion_at: sql<string>`coalesce(marked_for_deletion_at, now())` })
    .where(sql<boolean>`id = any(${ids}::bigint[])`)
    .returning(["id", markedAt])
    .execute();

/** A marked group that is to be gone before its time is over, which takes its exact full path. */
export async function markedAlready(tx: Tx, id: number, path: string | undefined): Promise<Marked> {
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

/** Groups whose time to be restored is over, a batch of them. */
export const overdueGroups = (tx: Tx, days: number, most: number): Promise<Marked[]> =>
  tx
    .selectFrom("namespaces")
    .select(["id", markedAt])
    .where("marked_for_deletion_at", "<=", sql<string>`now() - make_interval(days => ${days})`)
    .orderBy("marked_for_deletion_at")
    .limit(sql.lit(most))
    .execute();

/** Whether a group is still marked as it was then; from now on it cannot be restored. */
export async function beginRemoval(tx: Tx, { id, marked_at }: Marked): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable("namespaces")
    .set({ removal_began_at: sql<string>`coalesce(removal_began_at, now())` })
    .where("id", "=", id)
    .where("marked_for_deletion_at", "=", marked_at)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

const MOST_AT_ONCE = 500;
/** Rows that belong to what is removed are small, so more of them go at once. */
const MOST_ROWS = 5000;

/** The users of a kind whom the groups in a group brought, some of them. */
const broughtBy = (id: number, kind: "service accounts" | "others", most: number) => sql<{ id: number }>`
  select u.id from namespaces g
    join namespaces n on n.traversal_ids >= g.traversal_ids and n.traversal_ids < g.subtree_end
    join users u on u.provisioned_by_group_id = n.id
  where g.id = ${id} and u.removal_began_at is null
    and u.user_type ${sql.raw(kind === "others" ? "<>" : "=")} 'service_account'
  limit ${sql.lit(most)}`;

/** Ends some of the service accounts of a group, which go with it; false when there are none. */
export async function endSomeAccounts(tx: Tx, jobs: Jobs, id: number): Promise<boolean> {
  const { rows } = await broughtBy(id, "service accounts", MOST_AT_ONCE).execute(tx);
  for (const account of rows) await endAccount(tx, jobs, account.id, false);
  return rows.length > 0;
}

/** Lets go of some of the people whom a group brought, who stay; false when there are none. */
export async function releaseSomeUsers(tx: Tx, id: number): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update users set provisioned_by_group_id = null
    where id = any(array(${broughtBy(id, "others", MOST_ROWS)}))`.execute(tx);
  return numAffectedRows > 0n;
}

/** Removes some of the projects in a group, or what belongs to them; false when there are none. */
export async function removeSomeProjects(tx: Tx, jobs: Jobs, id: number): Promise<boolean> {
  const { rows } = await sql<{ id: number }>`
    select p.id from namespaces g
      join namespaces n on n.traversal_ids >= g.traversal_ids and n.traversal_ids < g.subtree_end
      join projects p on p.namespace_id = n.id
    where g.id = ${id} limit ${sql.lit(MOST_AT_ONCE)}`.execute(tx);
  if (rows.length === 0) return false;
  const ids = rows.map((row) => row.id);
  if (await removedMany(tx, "stars", sql`project_id = any(${ids}::bigint[])`)) return true;
  if (await removedMany(tx, "members", sql`project_id = any(${ids}::bigint[])`)) return true;
  await deleteProjects(tx, jobs, sql`id = any(${ids}::bigint[])`);
  return true;
}

/** Removes some of the groups in a group that nothing is in any more, or what belongs to them; false when there are none. */
export async function removeSomeGroups(tx: Tx, id: number): Promise<boolean> {
  const { rows } = await sql<{ id: number }>`
    select n.id from namespaces g
      join namespaces n on n.traversal_ids > g.traversal_ids and n.traversal_ids < g.subtree_end
    where g.id = ${id} and not exists (select from namespaces c where c.parent_id = n.id)
    limit ${sql.lit(MOST_AT_ONCE)}`.execute(tx);
  if (rows.length === 0) return false;
  const ids = rows.map((row) => row.id);
  if (!(await removedRowsOf(tx, ids))) await removeGroups(tx, ids);
  return true;
}

/** Removes some of what belongs to a group itself; false when there is little left of it. */
export const removeSomeRows = (tx: Tx, id: number): Promise<boolean> => removedRowsOf(tx, [id]);

const removedRowsOf = async (tx: Tx, ids: readonly number[]): Promise<boolean> =>
  (await removedMany(tx, "members", sql`group_id = any(${ids}::bigint[])`)) ||
  (await removedMany(tx, "shares", sql`with_group_id = any(${ids}::bigint[])`));

/** Removes groups that nothing is in, and the addresses of before below them, whose things live on elsewhere. */
export async function removeGroups(tx: Tx, ids: readonly number[]) {
  await sql`delete from routes where parent_id = any(${ids}::bigint[])`.execute(tx);
  await sql`delete from namespaces where id = any(${ids}::bigint[]) and kind = 'group'`.execute(tx);
}

/** Removes rows up to a number, and says whether it was reached, so that there may be more. */
async function removedMany(tx: Tx, table: "stars" | "members" | "shares", condition: ReturnType<typeof sql>) {
  const { numAffectedRows = 0n } = await sql`
    delete from ${sql.table(table)} where ctid = any(array(
      select ctid from ${sql.table(table)} where ${condition} limit ${sql.lit(MOST_ROWS)}))`.execute(tx);
  return numAffectedRows >= MOST_ROWS;
}
