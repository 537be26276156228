import type { AuditTarget, Writing } from "#http/endpoint.ts";
import { createToken, revokeToken, type Rotation, rotateToken } from "./actions.ts";
import { presentNewToken } from "./entity.ts";
import type { TokenRow } from "./queries.ts";

export const nameOf = ({ id, name, user_id }: TokenRow): AuditTarget => ({
  ...{ type: "PersonalAccessToken", id, name },
  entity: { type: "User", id: user_id },
});

/** Makes a token and shows its value, this once. */
export async function created({ tx, audit }: Writing, wanted: Parameters<typeof createToken>[1]) {
  const { row, value } = await createToken(tx, wanted);
  audit({ ...nameOf(row), details: { user_id: row.user_id, scopes: row.scopes } });
  return presentNewToken(row, value);
}

/** Replaces a token and shows the value of the new one, this once. */
export async function rotated(
  { tx, audit, services }: Writing,
  token: TokenRow,
  asked: Omit<Rotation, "requireExpiry">,
) {
  const { require_token_expiry: requireExpiry } = await services.settings.current();
  const { row, value } = await rotateToken(tx, token, { ...asked, requireExpiry });
  audit({ ...nameOf(row), details: { previous_id: token.id, grace_period: asked.grace_period ?? 0 } });
  return presentNewToken(row, value);
}

export async function revoked({ tx, audit }: Pick<Writing, "tx" | "audit">, token: TokenRow) {
  await revokeToken(tx, token.id);
  audit(nameOf(token));
}
