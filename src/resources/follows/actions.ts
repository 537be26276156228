import { sql } from "kysely";
import type { Actor } from "#access/actor.ts";
import type { Tx } from "#db/database.ts";
import { badRequest, missing, unchanged } from "#lib/refusal.ts";
import { isOpenTo } from "#resources/users/access.ts";
import { summaryColumns } from "#resources/users/queries.ts";

const MOST_FOLLOWED = 300;

/** Lets the caller follow a user whose profile is open to them; counts are exact, because only who adds a row adds to them. */
export async function follow(tx: Tx, actor: Actor, userId: number) {
  const { own, user } = await lockedPair(tx, actor, userId);
  if (!isOpenTo(actor, user)) throw missing("User");
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto("follows")
    .values({ follower_id: own.id, followed_id: user.id })
    .onConflict((clash) => clash.doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows === 0n) throw unchanged();
  if (own.following_count >= MOST_FOLLOWED) {
    throw badRequest(`You can't follow more than ${MOST_FOLLOWED} users. To follow more users, unfollow some others.`);
  }
  await addToCounts(tx, own.id, user.id, 1);
  return user;
}

export async function unfollow(tx: Tx, actor: Actor, userId: number) {
  const { own, user } = await lockedPair(tx, actor, userId);
  const { numDeletedRows } = await tx
    .deleteFrom("follows")
    .where("follower_id", "=", own.id)
    .where("followed_id", "=", user.id)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw unchanged();
  await addToCounts(tx, own.id, user.id, -1);
  return user;
}

// Both are locked, the lower id first: two who follow each other at once would else wait for one another.
async function lockedPair(tx: Tx, actor: Actor, userId: number) {
  const rows = await tx
    .selectFrom("users as u")
    .select([...summaryColumns, "u.private_profile", "u.confirmed_at", "u.following_count"])
    .where("u.id", "in", [actor.user.id, userId])
    .where("u.removal_began_at", "is", null)
    .orderBy("u.id")
    .forNoKeyUpdate()
    .execute();
  const [own, user] = [actor.user.id, userId].map((id) => rows.find((row) => row.id === id));
  if (!own || !user) throw missing("User");
  if (own.id === user.id) throw badRequest("You cannot follow yourself");
  return { own, user };
}

const addToCounts = (tx: Tx, followerId: number, followedId: number, number: 1 | -1) =>
  sql`update users set following_count = following_count + case id when ${followerId} then ${number} else 0 end,
      followers_count = followers_count + case id when ${followedId} then ${number} else 0 end
    where id in (${followerId}, ${followedId})`.execute(tx);
