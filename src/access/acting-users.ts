import type { Databases } from "#db/database.ts";
import { bigints, digests, type Lookup, texts } from "#db/loader.ts";
import type { ActingUser, TokenRow } from "./principal.ts";

/** The columns of an `ActingUser`, for statements with `users` as `u`. */
export const actingUserColumns = `
  u.id, u.username, u.name, u.state, u.user_type, u.admin, u.external,
  u.confirmed_at is not null as confirmed, u.password_expired,
  case when u.user_type = 'service_account' then u.provisioned_by_group_id end as service_account_group_id`;

/** A service account `u` is treated as deleted while its group is marked for deletion. */
export const groupIsEnding = `
  u.user_type = 'service_account' and exists (
    select from namespaces g where g.id = u.provisioned_by_group_id and g.marked_for_deletion_at is not null)`;

/** A token's state by the database's clock, for statements with `personal_access_tokens` as `t` and `users` as `u`. */
export const tokenStateColumns = `
  encode(t.token_digest, 'hex') as token_digest, t.id as token_id, t.scopes, t.impersonation,
  t.expires_at is not null and t.expires_at <= (now() at time zone 'UTC')::date as expired,
  (t.revoked_at is not null and t.revoked_at <= now()) or (${groupIsEnding}) as revoked,
  t.last_used_at is null or t.last_used_at < now() - interval '10 minutes' as use_unrecorded`;

const byDigest: Lookup<string, TokenRow> = {
  text: `
    select ${tokenStateColumns}, ${actingUserColumns}
    from personal_access_tokens t join users u on u.id = t.user_id
    where t.token_digest = any($1::bytea[])`,
  keys: digests,
  key: (row) => row.token_digest,
};

const byId: Lookup<number, ActingUser> = {
  text: `select ${actingUserColumns} from users u where u.id = any($1::bigint[])`,
  keys: bigints,
  key: (row) => row.id,
};

const byName: Lookup<string, ActingUser & { key: string }> = {
  text: `select ${actingUserColumns}, lower(u.username) as key from users u where lower(u.username) = any($1::text[])`,
  keys: texts,
  key: (row) => row.key,
};

export const tokenByDigest = (db: Databases, digest: string): Promise<TokenRow | undefined> =>
  db.point.load(byDigest, digest);

export const actingUserById = (db: Databases, id: number): Promise<ActingUser | undefined> => db.point.load(byId, id);

/** Finds a user by id, or else by username in any case. */
export async function actingUserByIdOrName(db: Databases, idOrName: string): Promise<ActingUser | undefined> {
  const id = /^\d{1,16}$/.test(idOrName) ? Number(idOrName) : Number.NaN;
  // Both are always looked up, so that the time does not reveal whether a user exists.
  const [byNumber, named] = await Promise.all([
    Number.isSafeInteger(id) ? db.point.load(byId, id) : undefined,
    db.point.load(byName, idOrName.toLowerCase()),
  ]);
  return byNumber ?? named;
}
