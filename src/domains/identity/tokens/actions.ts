import { sql } from "kysely";
import { groupIsEnding } from "#access/acting-users.ts";
import { stateProblem, tokenDigest } from "#access/authenticate.ts";
import { ADMINISTRATOR_SCOPES, type Scope } from "#access/scopes.ts";
import type { Tx } from "#db/database.ts";
import { badRequest, missing, unprocessable } from "#lib/refusal.ts";
import { newToken } from "#lib/secrets.ts";
import { revocationTime } from "#domains/identity/credentials/actions.ts";
import { type TokenRow, tokensOf } from "./queries.ts";

const MAX_LIFETIME_DAYS = 365;
const ROTATED_LIFETIME_DAYS = 7;

interface NewToken {
  readonly userId: number;
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly scopes: readonly Scope[];
  readonly expires_at?: string | undefined;
  readonly impersonation?: true;
}

/** A new token, and why it cannot be used for now, if so. */
export interface CreatedToken {
  readonly row: TokenRow;
  readonly value: string;
  readonly problem: string | undefined;
}

export interface Rotation {
  readonly requireExpiry: boolean;
  readonly expires_at?: string | undefined;
  /** Seconds for which the old token still works. */
  readonly grace_period?: number | undefined;
}

/** Creates a token and returns its value, of which only the digest is stored. */
export async function createToken(tx: Tx, token: NewToken): Promise<CreatedToken> {
  const user = await lockUser(tx, token);
  if (token.scopes.length === 0) throw unprocessable("Scopes can't be blank");
  const created = await insertToken(tx, { ...token, previousId: null, days: MAX_LIFETIME_DAYS });
  return { ...created, problem: problemOf(user) };
}

/** Revokes a token, at once or after a grace period, and creates its successor with the same name, scopes and user. */
export async function rotateToken(
  tx: Tx,
  old: TokenRow,
  { requireExpiry, expires_at, grace_period = 0 }: Rotation,
): Promise<CreatedToken> {
  const { id, user_id: userId, name, description } = old;
  const successor: NewToken = { userId, name, description, scopes: old.scopes as Scope[], expires_at };
  const user = await lockUser(tx, successor);
  const { numUpdatedRows } = await tx
    .updateTable("personal_access_tokens")
    .set({ revoked_at: sql<string>`${revocationTime} + make_interval(secs => ${grace_period})` })
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw await alreadyRevoked(tx, id);
  const days = requireExpiry ? ROTATED_LIFETIME_DAYS : MAX_LIFETIME_DAYS;
  return { ...(await insertToken(tx, { ...successor, previousId: id, days })), problem: problemOf(user) };
}

async function alreadyRevoked(tx: Tx, id: number) {
  const [token] = await tx
    .selectFrom("personal_access_tokens")
    .select("revoked_at")
    .where("id", "=", id)
    .where("revoked_at", ">", sql<string>`clock_timestamp()`)
    .execute();
  const hint = token ? `: it has a successor and works only until ${token.revoked_at}` : "";
  return badRequest(`Token already revoked${hint}`);
}

/** Locks the user of a new token, so that revoking all tokens of the user misses none that is being created. */
async function lockUser(tx: Tx, { userId, scopes }: NewToken) {
  const user = await tx
    .selectFrom("users as u")
    .select(["u.admin", "u.state", "u.user_type", "u.password_expired"])
    .select(sql<boolean>`u.confirmed_at is not null`.as("confirmed"))
    .select(sql<boolean>`${sql.raw(groupIsEnding)}`.as("group_is_ending"))
    .where("u.id", "=", userId)
    .where("u.removal_began_at", "is", null)
    .forShare("u")
    .executeTakeFirst();
  if (!user) throw missing("User");
  if (!user.admin && scopes.some((scope) => ADMINISTRATOR_SCOPES.includes(scope))) {
    throw badRequest("the scopes sudo and admin_mode are for administrators' tokens");
  }
  return user;
}

/** Why requests with a token of this user are refused for now, or undefined. */
const problemOf = (user: Awaited<ReturnType<typeof lockUser>>): string | undefined =>
  user.group_is_ending ? "The group of this service account is marked for deletion." : stateProblem(user);

/** Revokes a token at once, also one that was rotated and is in its grace period. */
export async function revokeToken(tx: Tx, id: number) {
  const revoked = await tx
    .updateTable("personal_access_tokens")
    .set({ revoked_at: revocationTime })
    .where("id", "=", id)
    // This request may have waited for another revocation, which took effect after this transaction began.
    .where(sql<boolean>`(revoked_at is null or revoked_at > clock_timestamp())`)
    .returning("token_digest")
    .executeTakeFirst();
  if (!revoked) throw badRequest("Token already revoked");
  // The stored responses to its requests must not be replayed any more.
  await tx.deleteFrom("kept_answers").where("caller_digest", "=", revoked.token_digest).execute();
}

async function insertToken(tx: Tx, token: NewToken & { previousId: number | null; days: number }) {
  const value = newToken();
  const expires_at = token.expires_at ?? sql<string>`(now() at time zone 'UTC')::date + ${sql.lit(token.days)}`;
  if (token.expires_at !== undefined) await checkExpiry(tx, token.expires_at);
  const impersonation = token.impersonation === true;
  const { id } = await tx
    .insertInto("personal_access_tokens")
    .values({
      user_id: token.userId,
      name: token.name,
      description: token.description ?? null,
      scopes: [...new Set(token.scopes)],
      impersonation,
      expires_at,
      previous_id: token.previousId,
      token_digest: Buffer.from(tokenDigest(value), "hex"),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const row = await tokensOf(tx, undefined, { impersonation }).where("t.id", "=", id).executeTakeFirstOrThrow();
  return { row, value };
}

// The database's clock decides, as it does when the token is used.
async function checkExpiry(tx: Tx, expires_at: string) {
  const { rows } = await sql<{ past: boolean; late: boolean; last: string }>`
    select ${expires_at}::date <= today as past, ${expires_at}::date > today + ${sql.lit(MAX_LIFETIME_DAYS)} as late,
      (today + ${sql.lit(MAX_LIFETIME_DAYS)})::text as last
    from (select (now() at time zone 'UTC')::date as today) clock`.execute(tx);
  const [expiry] = rows;
  if (expiry?.past) throw unprocessable("Expiration date must be in the future");
  if (expiry?.late) throw unprocessable(`Expiration date must be ${expiry.last} or before`);
}
