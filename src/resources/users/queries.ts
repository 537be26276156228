import { type Selectable, sql } from "kysely";
import type { CallerRow } from "#access/actor.ts";
import { tokenStateColumns } from "#access/callers.ts";
import type { Databases, Db } from "#db/database.ts";
import { bigints, digests, type Lookup } from "#db/loader.ts";
import type { Database } from "#db/types.ts";
import { missing } from "#lib/refusal.ts";

type UserRow = Selectable<Database["users"]>;

/** A user's own account, as they see it themselves. */
const ACCOUNT = [
  "id",
  "username",
  "name",
  "email",
  "state",
  "user_type",
  "admin",
  "external",
  "private_profile",
  "two_factor_enabled",
  "can_create_group",
  "projects_limit",
  "color_scheme_id",
  "theme_id",
  "bio",
  "linkedin",
  "twitter",
  "discord",
  "github",
  "website_url",
  "organization",
  "job_title",
  "pronouns",
  "location",
  "public_email",
  "commit_email",
  "unconfirmed_email",
  "time_zone",
  "preferred_language",
  "avatar_file",
  "followers_count",
  "following_count",
  "password_expired",
  "confirmed_at",
  "last_sign_in_at",
  "current_sign_in_at",
  "last_activity_on",
  "created_at",
] as const satisfies readonly (keyof UserRow)[];

/** What administrators see beside it. */
const ADMINISTRATORS = [
  "auditor",
  "sign_in_count",
  "shared_runners_minutes_limit",
  "extra_shared_runners_minutes_limit",
  "note",
  "last_sign_in_ip",
  "current_sign_in_ip",
  "email_reset_offered_at",
  "namespace_id",
  "created_by_id",
  "provisioned_by_group_id",
] as const satisfies readonly (keyof UserRow)[];

export type Account = Pick<UserRow, (typeof ACCOUNT)[number]> & { locked: boolean };
export type WholeUser = Account & Pick<UserRow, (typeof ADMINISTRATORS)[number]>;
export type Identity = Pick<
  Selectable<Database["identities"]>,
  "user_id" | "provider" | "extern_uid" | "saml_provider_id"
>;
export type CustomAttribute = Selectable<Database["user_custom_attributes"]>;
export type SummaryRow = Pick<Account, "id" | "username" | "name" | "state" | "locked" | "avatar_file">;
export type Creator = SummaryRow;

const locked = sql<boolean>`u.locked_until is not null and u.locked_until > now()`.as("locked");

/** The columns of a summary. */
export const summaryColumns = ["u.id", "u.username", "u.name", "u.state", "u.avatar_file", locked] as const;

const columns = (names: readonly string[]) => `${names.map((name) => `u.${name}`).join(", ")},
  u.locked_until is not null and u.locked_until > now() as locked`;
const accountColumns = columns(ACCOUNT);
const wholeColumns = columns([...ACCOUNT, ...ADMINISTRATORS]);

const accountById: Lookup<number, Account> = {
  text: `select ${accountColumns} from users u where u.id = any($1::bigint[]) and u.removal_began_at is null`,
  keys: bigints,
  key: (row) => row.id,
};

/** A token's user in full with their identities, so that `GET /user` is one statement. */
export interface CurrentUserRow extends CallerRow, Omit<Account, keyof CallerRow> {
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

export const account = (db: Databases, id: number): Promise<Account | undefined> => db.point.load(accountById, id);

/** Users in full by id, in the order of the ids; nobody finds one whose removal began. */
export async function wholeUsers(db: Db, ids: readonly number[]): Promise<WholeUser[]> {
  const { rows } = await sql<WholeUser>`
    select ${sql.raw(wholeColumns)} from users u
    where u.id = any(${ids}::bigint[]) and u.removal_began_at is null`.execute(db);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

export const identitiesOf = (db: Db, ids: readonly number[]): Promise<Identity[]> =>
  db
    .selectFrom("identities")
    .select(["user_id", "provider", "extern_uid", "saml_provider_id"])
    .where("user_id", "=", sql<number>`any(${ids}::bigint[])`)
    .orderBy("id")
    .execute();

export const customAttributesOf = (db: Db, ids: readonly number[]): Promise<CustomAttribute[]> =>
  db
    .selectFrom("user_custom_attributes")
    .selectAll()
    .where("user_id", "=", sql<number>`any(${ids}::bigint[])`)
    .orderBy("key")
    .execute();

/** What users choose for themselves. */
export const PREFERENCES = [
  "view_diffs_file_by_file",
  "show_whitespace_in_diffs",
  "pass_user_identities_to_ci_jwt",
] as const satisfies readonly (keyof UserRow)[];

export async function preferencesOf(db: Db, userId: number) {
  const found = await db
    .selectFrom("users")
    .select(["id", ...PREFERENCES])
    .where("id", "=", userId)
    .executeTakeFirst();
  if (!found) throw missing("User");
  return found;
}

export type PreferencesRow = Awaited<ReturnType<typeof preferencesOf>>;

export const summariesOf = (db: Db, ids: readonly number[]): Promise<SummaryRow[]> =>
  db
    .selectFrom("users as u")
    .select(summaryColumns)
    .where("u.id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();
