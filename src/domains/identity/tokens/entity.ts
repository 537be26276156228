import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import type { CreatedToken } from "./actions.ts";
import type { TokenRow } from "./queries.ts";

const token = {
  id: Type.Integer(),
  name: Type.String(),
  revoked: Type.Boolean(),
  created_at: Type.String({ format: "date-time" }),
  description: Nullable(Type.String()),
  scopes: Type.Array(Type.String()),
  user_id: Type.Integer(),
  last_used_at: Nullable(Type.String({ format: "date-time" })),
  active: Type.Boolean(),
  expires_at: Nullable(Type.String({ format: "date" })),
};

export const Token = Type.Object(token, { additionalProperties: false, title: "Token" });

/** A new token: no other response ever shows its value. */
export const NewToken = Type.Object(
  {
    ...token,
    token: Type.String(),
    warning: Type.Optional(
      Type.String({ description: "Why requests with the token are refused until the account changes" }),
    ),
  },
  { additionalProperties: false, title: "NewToken" },
);

export const presentToken = (row: TokenRow): Static<typeof Token> => ({
  id: row.id,
  name: row.name,
  revoked: row.revoked,
  created_at: row.created_at,
  description: row.description,
  scopes: row.scopes,
  user_id: row.user_id,
  last_used_at: row.last_used_at,
  active: !row.revoked && !row.expired,
  expires_at: row.expires_at,
});

export const presentNewToken = ({ row, value, problem }: CreatedToken): Static<typeof NewToken> => ({
  ...presentToken(row),
  token: value,
  ...(problem !== undefined && { warning: `Requests with this token are refused for now: ${problem}` }),
});
