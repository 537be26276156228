import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/actor.ts";
import type { Databases, Db } from "#db/database.ts";
import { type Lookup, texts } from "#db/loader.ts";
import { summaryColumns } from "#resources/users/queries.ts";

/** Keys are `follower:followed`, so that what is asked for together is read together, whoever asks. */
const followsLookup: Lookup<string, { key: string }> = {
  text: `
    select key from unnest($1::text[]) key join follows f
      on f.follower_id = split_part(key, ':', 1)::bigint and f.followed_id = split_part(key, ':', 2)::bigint`,
  keys: texts,
  key: (row) => row.key,
};

export const isFollowing = async (db: Databases, followerId: number, followedId: number): Promise<boolean> =>
  (await db.point.load(followsLookup, `${followerId}:${followedId}`)) !== undefined;

/** Whom of some users somebody follows. */
export async function followedAmong(db: Db, followerId: number, ids: readonly number[]): Promise<Set<number>> {
  const rows = await db
    .selectFrom("follows")
    .select("followed_id")
    .where("follower_id", "=", followerId)
    .where(sql<boolean>`followed_id = any(${ids}::bigint[])`)
    .execute();
  return new Set(rows.map(({ followed_id }) => followed_id));
}

/** Who follows a user, but for those whose profile is not the caller's to see. */
export const followersOf = (db: Db, userId: number, actor: Actor) =>
  db
    .selectFrom("follows as f")
    .innerJoin("users as u", "u.id", "f.follower_id")
    .select(summaryColumns)
    .where("f.followed_id", "=", userId)
    .where(openTo(actor));

/** Whom a user follows, but for the same. */
export const followedBy = (db: Db, userId: number, actor: Actor) =>
  db
    .selectFrom("follows as f")
    .innerJoin("users as u", "u.id", "f.followed_id")
    .select(summaryColumns)
    .where("f.follower_id", "=", userId)
    .where(openTo(actor));

const openTo = (actor: Actor) =>
  isAdministrator(actor) ? sql<boolean>`true` : sql<boolean>`(not u.private_profile or u.id = ${actor.user.id})`;
