import { sql } from "kysely";
import { tokenDigest } from "#access/authenticate.ts";
import { ADMINISTRATOR_SCOPES, type Scope } from "#access/scopes.ts";
import type { Tx } from "#db/database.ts";
import { badRequest, missing, unprocessable } from "#lib/refusal.ts";
import { newToken } from "#lib/secrets.ts";
import { type TokenRow, tokensOf } from "./queries.ts";

const LONGEST_LIFE = 365;
const ROTATED_LIFE = 7;

interface Wanted {
  readonly userId: number;
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly scopes: readonly Scope[];
  readonly expires_at?: string | undefined;
  readonly impersonation?: true;
}

export interface Rotation {
  readonly requireExpiry: boolean;
  readonly expires_at?: string | undefined;
  /** Seconds for which the old one lives on. */
  readonly grace_period?: number | undefined;
}

/** Now, as the column keeps it: rounded, it could be a little later, and the token would still work. */
export const atOnce = sql<string>`date_trunc('milliseconds', now())`;

/** Makes a token; its value is known only to the caller afterwards. */
export async function createToken(tx: Tx, wanted: Wanted): Promise<{ row: TokenRow; value: string }> {
  await refuseForeignScopes(tx, wanted);
  if (wanted.scopes.length === 0) throw unprocessable("Scopes can't be blank");
  return insertToken(tx, { ...wanted, previousId: null, days: LONGEST_LIFE });
}

/** Ends a token, at once or when its grace is over, and makes its successor with the same name, scopes and user. */
export async function rotateToken(tx: Tx, old: TokenRow, { requireExpiry, expires_at, grace_period = 0 }: Rotation) {
  const { id, user_id: userId, name, description } = old;
  const wanted: Wanted = { userId, name, description, scopes: old.scopes as Scope[], expires_at };
  await refuseForeignScopes(tx, wanted);
  const { numUpdatedRows } = await tx
    .updateTable("personal_access_tokens")
    .set({ revoked_at: sql<string>`${atOnce} + make_interval(secs => ${grace_period})` })
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw await alreadyRevoked(tx, id);
  return insertToken(tx, { ...wanted, previousId: id, days: requireExpiry ? ROTATED_LIFE : LONGEST_LIFE });
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

// Held, so that whoever ends all tokens of a user misses none that is being made.
async function refuseForeignScopes(tx: Tx, { userId, scopes }: Wanted) {
  const user = await tx
    .selectFrom("users")
    .select("admin")
    .where("id", "=", userId)
    .where("removal_began_at", "is", null)
    .forShare()
    .executeTakeFirst();
  if (!user) throw missing("User");
  if (!user.admin && scopes.some((scope) => ADMINISTRATOR_SCOPES.includes(scope))) {
    throw badRequest("the scopes sudo and admin_mode are for administrators' tokens");
  }
}

/** Ends a token at once, also one that was rotated and lives out its grace. */
export async function revokeToken(tx: Tx, id: number) {
  const ended = await tx
    .updateTable("personal_access_tokens")
    .set({ revoked_at: atOnce })
    .where("id", "=", id)
    // Another revocation that this one waited for may have begun later than this.
    .where(sql<boolean>`(revoked_at is null or revoked_at > clock_timestamp())`)
    .returning("token_digest")
    .executeTakeFirst();
  if (!ended) throw badRequest("Token already revoked");
  // Nobody is to ask again with it for what it was answered.
  await tx.deleteFrom("kept_answers").where("caller_digest", "=", ended.token_digest).execute();
}

interface Spared {
  readonly but?: readonly number[];
  /** Whether those end too that administrators made to act as the user. */
  readonly impersonation?: boolean;
}

/** Ends the tokens of a user, whose row is held. */
export async function revokeTokensOf(tx: Tx, userId: number, { but = [], impersonation = false }: Spared) {
  await tx
    .updateTable("personal_access_tokens")
    .set({ revoked_at: atOnce })
    .where("user_id", "=", userId)
    .where(impersonation ? sql<boolean>`true` : sql<boolean>`not impersonation`)
    .where(sql<boolean>`id <> all(${but}::bigint[]) and (revoked_at is null or revoked_at > now())`)
    .execute();
}

async function insertToken(tx: Tx, wanted: Wanted & { previousId: number | null; days: number }) {
  const value = newToken();
  const expires_at = wanted.expires_at ?? sql<string>`(now() at time zone 'UTC')::date + ${sql.lit(wanted.days)}`;
  if (wanted.expires_at !== undefined) await checkExpiry(tx, wanted.expires_at);
  const impersonation = wanted.impersonation === true;
  const { id } = await tx
    .insertInto("personal_access_tokens")
    .values({
      user_id: wanted.userId,
      name: wanted.name,
      description: wanted.description ?? null,
      scopes: [...new Set(wanted.scopes)],
      impersonation,
      expires_at,
      previous_id: wanted.previousId,
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
    select ${expires_at}::date <= today as past, ${expires_at}::date > today + ${sql.lit(LONGEST_LIFE)} as late,
      (today + ${sql.lit(LONGEST_LIFE)})::text as last
    from (select (now() at time zone 'UTC')::date as today) clock`.execute(tx);
  const [found] = rows;
  if (found?.past) throw unprocessable("Expiration date must be in the future");
  if (found?.late) throw unprocessable(`Expiration date must be ${found.last} or before`);
}
