import type { AuditTarget, Conditional, WriteContext } from "#http/endpoint.ts";
import { createToken, revokeToken, rotateToken, type Rotation } from "./actions.ts";
import { presentNewToken } from "./entity.ts";
import type { TokenRow } from "./queries.ts";

export const targetOf = ({ id, name, user_id }: TokenRow): AuditTarget => ({
  ...{ type: "PersonalAccessToken", id, name },
  entity: { type: "User", id: user_id },
});

/** Creates a token for an endpoint; its value is in this response only. */
export async function handleCreate({ tx, audit }: WriteContext, token: Parameters<typeof createToken>[1]) {
  const created = await createToken(tx, token);
  const { row } = created;
  audit({ ...targetOf(row), details: { user_id: row.user_id, scopes: row.scopes } });
  return presentNewToken(created);
}

/** Replaces a token for an endpoint; the value of the new one is in this response only. */
export async function handleRotate(
  { tx, audit, services }: WriteContext,
  token: TokenRow,
  params: Omit<Rotation, "requireExpiry">,
) {
  const { require_token_expiry: requireExpiry } = await services.settings.current();
  const created = await rotateToken(tx, token, { ...params, requireExpiry });
  audit({ ...targetOf(created.row), details: { previous_id: token.id, grace_period: params.grace_period ?? 0 } });
  return presentNewToken(created);
}

/** Revokes a token for an endpoint. Nothing else changes a token, so it last changed when it was created. */
export async function handleRevoke({ tx, audit, unlessModified }: WriteContext & Conditional, token: TokenRow) {
  await revokeToken(tx, token.id);
  unlessModified(token.created_at);
  audit(targetOf(token));
}
