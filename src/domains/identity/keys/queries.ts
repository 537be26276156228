import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";

/** Keys of users, and deploy keys with the user who added them. */
export const allKeys = (db: Db) =>
  db
    .selectFrom("keys as k")
    .select(["k.id", "k.title", "k.key", "k.usage_type", "k.created_at", "k.expires_at", "k.last_used_at", "k.kind"])
    .select((row) => row.ref("k.user_id").$notNull().as("user_id"));

export const keysOf = (db: Db, userId: number) =>
  allKeys(db).where("k.kind", "=", "user").where("k.user_id", "=", userId);

export type KeyRow = Awaited<ReturnType<ReturnType<typeof keysOf>["executeTakeFirstOrThrow"]>>;

const SHA256 = /^SHA256:[\w+/]{43}$/;
const MD5 = /^(?:MD5:)?((?:[\da-f]{2}:){15}[\da-f]{2})$/i;

/** Finds a key by its fingerprint, in one of the two forms that ssh-keygen prints. */
export async function keyByFingerprint(db: Db, fingerprint: string, fips: boolean): Promise<KeyRow | undefined> {
  const md5 = MD5.exec(fingerprint)?.[1];
  if (SHA256.test(fingerprint)) {
    return allKeys(db).where("k.fingerprint_sha256", "=", fingerprint).executeTakeFirst();
  }
  if (md5 === undefined || fips) throw new Refusal("invalid", "Failed to return the key");
  return allKeys(db).where("k.fingerprint_md5", "=", md5.toLowerCase()).orderBy("k.id").executeTakeFirst();
}

const MAX_LINKS = 100;

/** The first projects that enabled a deploy key. */
export const deployKeyLinks = (db: Db, keyId: number) =>
  db
    .selectFrom("deploy_keys_projects")
    .select(["id", "key_id", "project_id", "created_at", "updated_at", "can_push"])
    .where("key_id", "=", keyId)
    .orderBy("id")
    .limit(sql.lit(MAX_LINKS))
    .execute();

export type DeployKeyLinkRow = Awaited<ReturnType<typeof deployKeyLinks>>[number];
