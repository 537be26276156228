import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { badRequest, missing, unchanged } from "#lib/refusal.ts";
import { canSeeProfile } from "#domains/identity/users/access.ts";
import { summaryColumns } from "#domains/identity/users/queries.ts";

const MAX_FOLLOWED = 300;

/** Follows a user whose profile the caller can see; the counts change only if a row was added, so they stay exact. */
export async function follow(tx: Tx, actor: Actor, userId: number) {
  const { follower, user } = await lockPair(tx, actor, userId);
  if (!canSeeProfile(actor, user)) throw missing("User");
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto("follows")
    .values({ follower_id: follower.id, followed_id: user.id })
    .onConflict((clash) => clash.doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows === 0n) throw unchanged();
  if (follower.following_count >= MAX_FOLLOWED) {
    throw badRequest(`You can't follow more than ${MAX_FOLLOWED} users. To follow more users, unfollow some others.`);
  }
  await addToCounts(tx, follower.id, user.id, 1);
  return user;
}

export async function unfollow(tx: Tx, actor: Actor, userId: number) {
  const { follower, user } = await lockPair(tx, actor, userId);
  const { numDeletedRows } = await tx
    .deleteFrom("follows")
    .where("follower_id", "=", follower.id)
    .where("followed_id", "=", user.id)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw unchanged();
  await addToCounts(tx, follower.id, user.id, -1);
  return user;
}

// The lower id is locked first, so that two users who follow each other at the same time do not deadlock.
async function lockPair(tx: Tx, actor: Actor, userId: number) {
  const rows = await tx
    .selectFrom("users as u")
    .select([...summaryColumns, "u.private_profile", "u.confirmed_at", "u.following_count"])
    .where("u.id", "in", [actor.user.id, userId])
    .where("u.removal_began_at", "is", null)
    .orderBy("u.id")
    .forNoKeyUpdate()
    .execute();
  const [follower, user] = [actor.user.id, userId].map((id) => rows.find((row) => row.id === id));
  if (!follower || !user) throw missing("User");
  if (follower.id === user.id) throw badRequest("You cannot follow yourself");
  return { follower, user };
}

const addToCounts = (tx: Tx, followerId: number, followedId: number, change: 1 | -1) =>
  sql`update users set following_count = following_count + case id when ${followerId} then ${change} else 0 end,
      followers_count = followers_count + case id when ${followedId} then ${change} else 0 end
    where id in (${followerId}, ${followedId})`.execute(tx);

const BATCH_SIZE = 1000;

/** Removes a batch of follows of a deleted user in each direction, updates the counts of the others, and returns how many. */
export const removeFollows = async (tx: Tx, userId: number): Promise<number> =>
  (await removeBatchOfFollows(tx, userId, { own: "followed_id", other: "follower_id", count: "following_count" })) +
  (await removeBatchOfFollows(tx, userId, { own: "follower_id", other: "followed_id", count: "followers_count" }));

async function removeBatchOfFollows(tx: Tx, userId: number, column: Record<"own" | "other" | "count", string>) {
  const [own, other, count] = [sql.ref(column.own), sql.ref(column.other), sql.ref(column.count)];
  const { numAffectedRows = 0n } = await sql`
    with removed as (
      delete from follows where ${own} = ${userId} and ${other} = any(array(
        select ${other} from follows where ${own} = ${userId} limit ${sql.lit(BATCH_SIZE)}))
      returning ${other} as id)
    update users set ${count} = ${count} - 1 where id in (select id from removed)`.execute(tx);
  return Number(numAffectedRows);
}
