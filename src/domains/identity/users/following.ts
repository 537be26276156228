import { sql } from "kysely";
import type { Databases, Db } from "#db/database.ts";
import { type Lookup, texts } from "#db/loader.ts";

/** Keys are `follower:followed`, so that the lookups of different callers are one statement. */
const followsLookup: Lookup<string, { key: string }> = {
  text: `
    select key from unnest($1::text[]) key join follows f
      on f.follower_id = split_part(key, ':', 1)::bigint and f.followed_id = split_part(key, ':', 2)::bigint`,
  keys: texts,
  key: (row) => row.key,
};

export const isFollowing = async (db: Databases, followerId: number, followedId: number): Promise<boolean> =>
  (await db.point.load(followsLookup, `${followerId}:${followedId}`)) !== undefined;

/** The ids among these that a user follows. */
export async function followedAmong(db: Db, followerId: number, ids: readonly number[]): Promise<Set<number>> {
  const rows = await db
    .selectFrom("follows")
    .select("followed_id")
    .where("follower_id", "=", followerId)
    .where(sql<boolean>`followed_id = any(${ids}::bigint[])`)
    .execute();
  return new Set(rows.map(({ followed_id }) => followed_id));
}
