import Type, { type Static } from "typebox";
import { NewToken, presentToken, Token } from "#domains/identity/tokens/entity.ts";
import type { TokenRow } from "#domains/identity/tokens/queries.ts";

const impersonation = Type.Literal(true);

/** A token with which administrators act as a user. */
export const ImpersonationToken = Type.Object(
  { ...Token.properties, impersonation },
  { additionalProperties: false, title: "ImpersonationToken" },
);

export const NewImpersonationToken = Type.Object(
  { ...NewToken.properties, impersonation },
  { additionalProperties: false, title: "NewImpersonationToken" },
);

export const presentImpersonationToken = (row: TokenRow): Static<typeof ImpersonationToken> => ({
  ...presentToken(row),
  impersonation: true,
});
