import { sql } from "kysely";
import type { Static } from "typebox";
import type { Tx } from "#db/database.ts";
import { type Problems, refuse, throwProblems } from "#lib/problems.ts";
import { badFields, missing } from "#lib/refusal.ts";
import { readSshKey } from "#lib/ssh-keys.ts";
import { lockedUser } from "#resources/users/named.ts";
import type { NewKey } from "./params.ts";
import { type KeyRow, keysOf } from "./queries.ts";

const MOST_KEYS = 200;
const MOST_TITLE = 255;

/** Gives a user a key. No two rows hold the same one: the unique index sees to that. */
export async function addKey(
  tx: Tx,
  userId: number,
  given: Static<typeof NewKey>,
  fips: boolean,
): Promise<KeyRow & { readonly fingerprint: string }> {
  // The user's row is held, so that two keys at once cannot both be the last one.
  await lockedUser(tx, userId);
  const { keys, past } = await counted(tx, userId, given.expires_at);
  const read = readSshKey(given.key);
  if ("problem" in read) throw badFields({ key: [read.problem] });
  const { comment, fingerprintSha256: fingerprint } = read.key;
  const title = given.title?.trim() || [...comment].slice(0, MOST_TITLE).join("").trim();
  const problems: Problems = {};
  if (past) refuse(problems, "key", "has expired");
  if (title === "") refuse(problems, "title", "can't be blank");
  if (keys >= MOST_KEYS) refuse(problems, "base", `a user may have at most ${MOST_KEYS} keys`);
  throwProblems(problems);
  const { id } = await tx
    .insertInto("keys")
    .values({
      user_id: userId,
      title,
      key: given.key.trim(),
      fingerprint_md5: fips ? null : read.key.fingerprintMd5,
      fingerprint_sha256: fingerprint,
      ...(given.usage_type && { usage_type: given.usage_type }),
      expires_at: given.expires_at ?? null,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { ...(await keysOf(tx, userId).where("k.id", "=", id).executeTakeFirstOrThrow()), fingerprint };
}

/** How many keys a user has, and whether another would have expired already, by the database's clock. */
const counted = (tx: Tx, userId: number, expiresAt: string | undefined) =>
  keysOf(tx, userId)
    .clearSelect()
    .select(({ fn }) => fn.countAll<number>().as("keys"))
    .select(sql<boolean>`coalesce(${expiresAt ?? null}::timestamptz <= now(), false)`.as("past"))
    .executeTakeFirstOrThrow();

/** Takes a user's key away. */
export async function removeKey(tx: Tx, userId: number, id: number) {
  const key = await tx
    .deleteFrom("keys")
    .where("id", "=", id)
    .where("user_id", "=", userId)
    .where("kind", "=", "user")
    .returning(["id", "title"])
    .executeTakeFirst();
  if (!key) throw missing("Key");
  return { ...key, user_id: userId };
}
