import { type RawBuilder, sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { Jobs } from "#jobs/add.ts";
import { groupRemoval, markAnyway } from "#resources/groups/removal.ts";
import { soleGroups } from "./owned-groups.ts";

const MOST_AT_ONCE = 1000;

/** A user whose removal began. */
export interface Leaving {
  readonly id: number;
  readonly namespace_id: number;
}

/** The user while their removal is not over; with `alone`, nothing new can be theirs until the transaction ends. */
export async function userLeaving(tx: Tx, id: number, alone: boolean): Promise<Leaving | undefined> {
  const query = tx
    .selectFrom("users")
    .select(["id", "namespace_id"])
    .where("id", "=", id)
    .where("removal_began_at", "is not", null);
  return (alone ? query.forUpdate() : query).executeTakeFirst();
}

/** Gives some of the groups that nobody else owns to the job that removes groups; false when there are none. */
export async function removeSomeSoleGroups(tx: Tx, jobs: Jobs, userId: number): Promise<boolean> {
  const groups = await soleGroups(tx, userId);
  if (groups.length === 0) return false;
  const ids = groups.map(({ id }) => id);
  // What is in one of them goes with it.
  const topmost = groups.filter(
    ({ traversal_ids }) => !traversal_ids.slice(0, -1).some((above) => ids.includes(above)),
  );
  for (const marked of await markAnyway(
    tx,
    topmost.map(({ id }) => id),
  )) {
    await jobs.add(tx, groupRemoval, marked);
  }
  await sql`delete from members where user_id = ${userId} and group_id = any(${ids}::bigint[])`.execute(tx);
  return true;
}

/** Takes some of a user's stars away from their projects; each of these says whether there may be more. */
export const removeSomeStars = (tx: Tx, userId: number): Promise<boolean> =>
  many(
    tx,
    sql`with gone as (
      delete from stars where user_id = ${userId} and project_id = any(array(
        select project_id from stars where user_id = ${userId} limit ${sql.lit(MOST_AT_ONCE)}))
      returning project_id)
    update projects set star_count = star_count - 1 where id in (select project_id from gone)`,
  );

export const removeSomeFollowers = (tx: Tx, userId: number): Promise<boolean> =>
  many(
    tx,
    sql`with gone as (
      delete from follows where followed_id = ${userId} and follower_id = any(array(
        select follower_id from follows where followed_id = ${userId} limit ${sql.lit(MOST_AT_ONCE)}))
      returning follower_id)
    update users set following_count = following_count - 1 where id in (select follower_id from gone)`,
  );

export const removeSomeFollowed = (tx: Tx, userId: number): Promise<boolean> =>
  many(
    tx,
    sql`with gone as (
      delete from follows where follower_id = ${userId} and followed_id = any(array(
        select followed_id from follows where follower_id = ${userId} limit ${sql.lit(MOST_AT_ONCE)}))
      returning followed_id)
    update users set followers_count = followers_count - 1 where id in (select followed_id from gone)`,
  );

export const removeSomeMemberships = (tx: Tx, userId: number): Promise<boolean> =>
  many(tx, sql`delete from members where id = any(array(${idsIn("members", sql`user_id = ${userId}`)}))`);

export const removeSomeTokens = (tx: Tx, userId: number): Promise<boolean> =>
  many(
    tx,
    sql`delete from personal_access_tokens
      where id = any(array(${idsIn("personal_access_tokens", sql`user_id = ${userId}`)}))`,
  );

/** What a user made, as another's from now on or nobody's. */
export const handOverSome = (tx: Tx, made: Made, userId: number, heir: number | null): Promise<boolean> => {
  const column = sql.ref(MADE[made]);
  return many(
    tx,
    sql`update ${sql.table(made)} set ${column} = ${heir}
      where id = any(array(${idsIn(made, sql`${column} = ${userId}`)}))`,
  );
};

export type Made = keyof typeof MADE;
const MADE = { projects: "creator_id", namespaces: "creator_id", users: "created_by_id" } as const;

/** Removes an account of which nothing else is left, and the addresses of before in its namespace. */
export async function removeRows(tx: Tx, { id, namespace_id }: Leaving) {
  await tx.deleteFrom("users").where("id", "=", id).execute();
  await tx.deleteFrom("routes").where("parent_id", "=", namespace_id).execute();
  await tx.deleteFrom("namespaces").where("id", "=", namespace_id).execute();
}

const idsIn = (table: string, condition: RawBuilder<unknown>) =>
  sql`select id from ${sql.table(table)} where ${condition} limit ${sql.lit(MOST_AT_ONCE)}`;

async function many(tx: Tx, statement: RawBuilder<unknown>): Promise<boolean> {
  const { numAffectedRows = 0n } = await statement.execute(tx);
  return numAffectedRows >= MOST_AT_ONCE;
}
