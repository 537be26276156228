import { type Selectable, sql } from "kysely";
import type { Databases, Db } from "#db/database.ts";
import { bigints, type Lookup } from "#db/loader.ts";
import type { Database } from "#db/types.ts";

type UserRow = Selectable<Database["users"]>;

/** The columns of an account as its user sees it. */
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

/** The columns that only administrators see. */
const ADMIN_ONLY = [
  "auditor",
  "locked_until",
  "failed_attempts",
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
export type AdminUserRow = Account & Pick<UserRow, (typeof ADMIN_ONLY)[number]>;
export type Identity = Pick<
  Selectable<Database["identities"]>,
  "user_id" | "provider" | "extern_uid" | "saml_provider_id"
>;
export type CustomAttribute = Selectable<Database["user_custom_attributes"]>;
export type SummaryRow = Pick<Account, "id" | "username" | "name" | "state" | "locked" | "avatar_file">;

const locked = sql<boolean>`u.locked_until is not null and u.locked_until > now()`.as("locked");

export const summaryColumns = ["u.id", "u.username", "u.name", "u.state", "u.avatar_file", locked] as const;

const columns = (names: readonly string[]) => `${names.map((name) => `u.${name}`).join(", ")},
  u.locked_until is not null and u.locked_until > now() as locked`;
export const accountColumns = columns(ACCOUNT);
const adminColumns = columns([...ACCOUNT, ...ADMIN_ONLY]);

const accountById: Lookup<number, Account> = {
  text: `select ${accountColumns} from users u where u.id = any($1::bigint[]) and u.removal_began_at is null`,
  keys: bigints,
  key: (row) => row.id,
};

/** Finds an account, unless its deletion has begun. */
export const findAccount = (db: Databases, id: number): Promise<Account | undefined> => db.point.load(accountById, id);

/** All columns of some users, in the order of the ids; users whose deletion has begun are left out. */
export async function adminUserRows(db: Db, ids: readonly number[]): Promise<AdminUserRow[]> {
  const { rows } = await sql<AdminUserRow>`
    select ${sql.raw(adminColumns)} from users u
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

export const userSummaries = (db: Db) => db.selectFrom("users as u").select(summaryColumns);

export const summariesOf = (db: Db, ids: readonly number[]): Promise<SummaryRow[]> =>
  userSummaries(db)
    .where("u.id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();
