import type { TokenRow, UserByToken } from "#access/principal.ts";
import { stateProblem } from "#access/authenticate.ts";
import { actingUserColumns, groupIsEnding } from "#access/acting-users.ts";
import type { Databases } from "#db/database.ts";

// A successor from the transaction that stored the response proves that this rotation revoked the token.
const ROTATED = `
  select t.id as token_id, t.scopes, t.impersonation, ${actingUserColumns}
  from personal_access_tokens t
    join personal_access_tokens s on s.previous_id = t.id and s.created_at = $2::timestamptz
    join users u on u.id = t.user_id
  where t.token_digest = $1
    and t.revoked_at <= now() and (t.expires_at is null or t.expires_at > (now() at time zone 'UTC')::date)
    and not (${groupIsEnding})`;

/** Finds the caller whose token was revoked by the rotation that stored a response, so that they can repeat the request. */
export async function findRotated(
  db: Databases,
  tokenDigest: string,
  storedAt: string,
): Promise<UserByToken | undefined> {
  const [row] = await db.point.query<TokenRow>(ROTATED, [Buffer.from(tokenDigest, "hex"), storedAt]);
  if (!row || stateProblem(row) !== undefined) return undefined;
  const { token_id: id, scopes, impersonation } = row;
  return { kind: "user by token", user: row, token: { id, scopes, impersonation } };
}
