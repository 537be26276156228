import { sql } from "kysely";
import type { Origin } from "#access/access.ts";
import type { CallerRow } from "#access/actor.ts";
import { tokenDigest } from "#access/authenticate.ts";
import { ADMINISTRATOR_SCOPES, type Scope } from "#access/scopes.ts";
import type { Databases, Tx } from "#db/database.ts";
import { writeAudit } from "#http/audit.ts";
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
}

/** Makes a token; its value is known only to the caller afterwards. */
export async function createToken(tx: Tx, wanted: Wanted): Promise<{ row: TokenRow; value: string }> {
  await refuseForeignScopes(tx, wanted);
  if (wanted.scopes.length === 0) throw unprocessable("Scopes can't be blank");
  return insertToken(tx, { ...wanted, previousId: null, days: LONGEST_LIFE });
}

/** Ends a token and makes its successor, with the same name, scopes and user, in one step. */
export async function rotateToken(tx: Tx, id: number, requireExpiry: boolean, expires_at: string | undefined) {
  const old = await revoke(tx, id);
  if (!old) throw badRequest("Token already revoked");
  const wanted: Wanted = {
    userId: old.user_id,
    name: old.name,
    description: old.description,
    scopes: old.scopes as Scope[],
    expires_at,
  };
  await refuseForeignScopes(tx, wanted);
  return insertToken(tx, { ...wanted, previousId: id, days: requireExpiry ? ROTATED_LIFE : LONGEST_LIFE });
}

async function refuseForeignScopes(tx: Tx, { userId, scopes }: Wanted) {
  const user = await tx.selectFrom("users").select("admin").where("id", "=", userId).executeTakeFirst();
  if (!user) throw missing("User");
  if (!user.admin && scopes.some((scope) => ADMINISTRATOR_SCOPES.includes(scope))) {
    throw badRequest("the scopes sudo and admin_mode are for administrators' tokens");
  }
}

export async function revokeToken(tx: Tx, id: number) {
  if (!(await revoke(tx, id))) throw badRequest("Token already revoked");
}

/** Ends every token that came from a revoked one: whoever rotates with it may have stolen it. */
export const endFamily = (db: Databases, row: CallerRow, origin: Origin): Promise<void> =>
  db.transaction(async (tx) => {
    const revoked: number[] = [];
    // A rotation under way may add a successor after the first look, so it is over when a look finds none.
    for (let quiet = 0; quiet < 2;) {
      const found = await revokeSuccessors(tx, row.token_id);
      revoked.push(...found);
      quiet = found.length === 0 ? quiet + 1 : 0;
    }
    if (revoked.length === 0) return;
    await writeAudit(tx, "personal_access_token_reused", { user: row }, origin, {
      type: "PersonalAccessToken",
      id: row.token_id,
      name: "",
      details: { revoked },
      entity: { type: "User", id: row.id },
    });
  });

async function revokeSuccessors(tx: Tx, id: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with recursive successors as (
      select id from personal_access_tokens where previous_id = ${id}
      union
      select t.id from personal_access_tokens t join successors s on t.previous_id = s.id
    )
    update personal_access_tokens set revoked_at = now()
    where id in (select id from successors) and revoked_at is null
    returning id`.execute(tx);
  return rows.map((row) => row.id);
}

const revoke = (tx: Tx, id: number) =>
  tx
    .updateTable("personal_access_tokens")
    .set({ revoked_at: sql<string>`now()` })
    .where("id", "=", id)
    .where("revoked_at", "is", null)
    .returning(["user_id", "name", "description", "scopes"])
    .executeTakeFirst();

async function insertToken(tx: Tx, wanted: Wanted & { previousId: number | null; days: number }) {
  const value = newToken();
  const expires_at = wanted.expires_at ?? sql<string>`(now() at time zone 'UTC')::date + ${sql.lit(wanted.days)}`;
  if (wanted.expires_at !== undefined) await checkExpiry(tx, wanted.expires_at);
  const { id } = await tx
    .insertInto("personal_access_tokens")
    .values({
      user_id: wanted.userId,
      name: wanted.name,
      description: wanted.description ?? null,
      scopes: [...new Set(wanted.scopes)],
      expires_at,
      previous_id: wanted.previousId,
      token_digest: Buffer.from(tokenDigest(value), "hex"),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const row = await tokensOf(tx, undefined).where("t.id", "=", id).executeTakeFirstOrThrow();
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
