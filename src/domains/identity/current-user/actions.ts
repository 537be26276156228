import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import type { UploadedFile } from "#http/params/raw.ts";
import type { Blobs } from "#lib/blobs.ts";
import { type Problems, throwProblems } from "#lib/problems.ts";
import { avatarColumns, checkAvatar } from "#domains/foundation/avatars/images.ts";
import { readTimeZone } from "#domains/identity/users/actions.ts";
import type { PREFERENCES } from "./queries.ts";

type PreferenceChanges = { readonly [Name in (typeof PREFERENCES)[number]]?: boolean } & {
  readonly timezone?: string | null;
};

/** Changes preferences of a user; a time zone of null or an empty text is none. */
export async function setPreferences(tx: Tx, userId: number, { timezone, ...preferences }: PreferenceChanges) {
  const problems: Problems = {};
  const time_zone = timezone === undefined ? undefined : readTimeZone(problems, timezone);
  throwProblems(problems);
  const changes = { ...preferences, ...(time_zone !== undefined && { time_zone }) };
  await tx.updateTable("users").set(changes).where("id", "=", userId).execute();
}

/** Stores an image as the user's avatar and returns its file name; null removes the avatar. */
export async function setAvatar(tx: Tx, userId: number, avatar: UploadedFile | null, blobs: Blobs) {
  const problems: Problems = {};
  if (avatar) checkAvatar(problems, avatar);
  throwProblems(problems);
  const columns = await avatarColumns(avatar, blobs);
  await tx
    .updateTable("users")
    .set({ ...columns, updated_at: sql<string>`now()` })
    .where("id", "=", userId)
    .execute();
  return columns.avatar_file ?? null;
}
