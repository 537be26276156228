import type { Db } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";

/** The keys of users, of one where one is named. */
export function keysOf(db: Db, userId?: number) {
  const keys = db
    .selectFrom("keys as k")
    .select(["k.id", "k.title", "k.key", "k.usage_type", "k.created_at", "k.expires_at", "k.last_used_at"])
    // Only the keys of other kinds belong to nobody.
    .select((row) => row.ref("k.user_id").$notNull().as("user_id"))
    .where("k.kind", "=", "user");
  return userId === undefined ? keys : keys.where("k.user_id", "=", userId);
}

export type KeyRow = Awaited<ReturnType<ReturnType<typeof keysOf>["executeTakeFirstOrThrow"]>>;

const SHA256 = /^SHA256:[\w+/]{43}$/;
const MD5 = /^(?:MD5:)?((?:[\da-f]{2}:){15}[\da-f]{2})$/i;

/** The key of a fingerprint, in one of the two forms that ssh-keygen prints. */
export async function keyByFingerprint(db: Db, fingerprint: string, fips: boolean): Promise<KeyRow | undefined> {
  const md5 = MD5.exec(fingerprint)?.[1];
  if (SHA256.test(fingerprint)) {
    return keysOf(db).where("k.fingerprint_sha256", "=", fingerprint).executeTakeFirst();
  }
  if (md5 === undefined || fips) throw new Refusal("invalid", "Failed to return the key");
  return keysOf(db).where("k.fingerprint_md5", "=", md5.toLowerCase()).orderBy("k.id").executeTakeFirst();
}
