import { sql } from "kysely";
import type { Static } from "typebox";
import type { Tx } from "#db/database.ts";
import { type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { badFields, missing } from "#lib/refusal.ts";
import { readSshKey } from "#lib/ssh-keys.ts";
import { lockedUser } from "#domains/identity/users/named.ts";
import type { NewKey } from "./params.ts";
import { type KeyRow, keysOf } from "./queries.ts";

const MAX_KEYS = 200;
const MAX_TITLE_LENGTH = 255;

/** Adds a key to a user. A unique index refuses a key that is already registered. */
export async function addKey(
  tx: Tx,
  userId: number,
  params: Static<typeof NewKey>,
  fips: boolean,
): Promise<KeyRow & { readonly fingerprint: string }> {
  // Locked, so that concurrent requests cannot exceed the limit together.
  await lockedUser(tx, userId);
  const { keys, past } = await countKeys(tx, userId, params.expires_at);
  const read = readSshKey(params.key);
  if ("problem" in read) throw badFields({ key: [read.problem] });
  const { comment, fingerprintSha256: fingerprint } = read.key;
  const title = params.title?.trim() || [...comment].slice(0, MAX_TITLE_LENGTH).join("").trim();
  const problems: Problems = {};
  if (past) refuse(problems, "key", "has expired");
  if (title === "") refuse(problems, "title", "can't be blank");
  if (keys >= MAX_KEYS) refuse(problems, "base", `a user may have at most ${MAX_KEYS} keys`);
  throwProblems(problems);
  const { id } = await tx
    .insertInto("keys")
    .values({
      user_id: userId,
      title,
      key: params.key.trim(),
      fingerprint_md5: fips ? null : read.key.fingerprintMd5,
      fingerprint_sha256: fingerprint,
      ...(params.usage_type && { usage_type: params.usage_type }),
      expires_at: params.expires_at ?? null,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { ...(await keysOf(tx, userId).where("k.id", "=", id).executeTakeFirstOrThrow()), fingerprint };
}

/** The number of keys of a user, and whether `expiresAt` has passed by the database's clock. */
const countKeys = (tx: Tx, userId: number, expiresAt: string | undefined) =>
  keysOf(tx, userId)
    .clearSelect()
    .select(({ fn }) => fn.countAll<number>().as("keys"))
    .select(sql<boolean>`coalesce(${expiresAt ?? null}::timestamptz <= now(), false)`.as("past"))
    .executeTakeFirstOrThrow();

export async function removeKey(tx: Tx, userId: number, id: number) {
  const key = await tx
    .deleteFrom("keys")
    .where("id", "=", id)
    .where("user_id", "=", userId)
    .where("kind", "=", "user")
    .returning(["id", "title", "updated_at"])
    .executeTakeFirst();
  if (!key) throw missing("Key");
  return { ...key, user_id: userId };
}
