import Type, { type Static } from "typebox";
import { NewToken, presentToken, Token } from "#resources/tokens/entity.ts";
import type { TokenRow } from "#resources/tokens/queries.ts";

const impersonation = Type.Literal(true);

/** A token by which administrators act as a user. */
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
