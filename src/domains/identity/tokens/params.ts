import Type from "typebox";
import { SCOPES } from "#access/scopes.ts";
import { CommaList, DateOnly, DateTime, Flag, Id, Line } from "#http/params/vocabulary.ts";

export const TokenId = Type.Object({ id: Id });

export const TokenFilters = Type.Object({
  revoked: Flag,
  state: Type.Optional(Type.Enum(["active", "inactive"])),
  created_after: Type.Optional(DateTime),
  created_before: Type.Optional(DateTime),
  last_used_after: Type.Optional(DateTime),
  last_used_before: Type.Optional(DateTime),
  expires_after: Type.Optional(DateOnly),
  expires_before: Type.Optional(DateOnly),
  search: Type.Optional(Type.String({ maxLength: 255, description: "Part of the token's name" })),
  sort: Type.Optional(
    Type.Enum([
      "created_asc",
      "created_desc",
      "expires_asc",
      "expires_desc",
      "last_used_asc",
      "last_used_desc",
      "name_asc",
      "name_desc",
    ]),
  ),
});

const newToken = {
  name: Line(255),
  description: Type.Optional(Type.String({ maxLength: 255 })),
  expires_at: Type.Optional(DateOnly),
};

/** Scopes as an array, or as one comma-separated string. */
const scopesOf = <const S extends string>(scopes: readonly S[]) => CommaList(Type.Enum([...scopes]), { maxItems: 20 });

export const NewTokenOfUser = Type.Object({ user_id: Id, ...newToken, scopes: scopesOf(SCOPES) });

export const NewOwnToken = Type.Object({ ...newToken, scopes: scopesOf(SCOPES) });

export const RotateToken = Type.Object({
  expires_at: Type.Optional(DateOnly),
  grace_period: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 604_800,
      description:
        "Seconds for which the old token still works, so that its users can switch to the new one; 0 by default",
    }),
  ),
});
