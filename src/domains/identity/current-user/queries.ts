import type { TokenRow } from "#access/principal.ts";
import { tokenStateColumns } from "#access/acting-users.ts";
import type { Db } from "#db/database.ts";
import { digests, type Lookup } from "#db/loader.ts";
import { missing } from "#lib/refusal.ts";
import { type Account, accountColumns, type Identity } from "#domains/identity/users/queries.ts";

/** A token's user in full with their identities, so that `GET /user` is one statement. */
export interface CurrentUserRow extends TokenRow, Omit<Account, keyof TokenRow> {
  readonly identities: readonly Identity[] | null;
}

export const currentUserByDigest: Lookup<string, CurrentUserRow> = {
  text: `
    select ${tokenStateColumns}, ${accountColumns}, u.confirmed_at is not null as confirmed,
      (select json_agg(i order by i.id) from identities i where i.user_id = u.id) as identities
    from personal_access_tokens t join users u on u.id = t.user_id
    where t.token_digest = any($1::bytea[])`,
  keys: digests,
  key: (row) => row.token_digest,
};

export const PREFERENCES = [
  "view_diffs_file_by_file",
  "show_whitespace_in_diffs",
  "pass_user_identities_to_ci_jwt",
] as const;

export async function preferencesOf(db: Db, userId: number) {
  const preferences = await db
    .selectFrom("users")
    .select(["id", "time_zone", ...PREFERENCES])
    .where("id", "=", userId)
    .executeTakeFirst();
  if (!preferences) throw missing("User");
  return preferences;
}

export type PreferencesRow = Awaited<ReturnType<typeof preferencesOf>>;
