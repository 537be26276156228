import Type from "typebox";
import { LEVELS } from "#access/roles.ts";
import { CommaList, DateOnly, Flag, Id, Nullable, Text } from "#http/params/vocabulary.ts";
import type { Kind } from "./access.ts";

const MAX_USERS = 100;

const container = { id: Type.String({ description: "Id or full path" }) };

export const MemberFilters = Type.Object({
  ...container,
  query: Type.Optional(Type.String({ maxLength: 255, description: "Part of the name or username" })),
  user_ids: Type.Optional(CommaList(Id, { maxItems: MAX_USERS })),
  state: Type.Optional(Type.Enum(["awaiting", "active"], { description: "Everybody is active" })),
});

export const UserFilters = Type.Object({
  ...container,
  search: Type.Optional(Type.String({ maxLength: 255, description: "Part of the name or username" })),
});

export const MemberId = Type.Object({ ...container, user_id: Id });

/** Minimal access exists only in groups. */
const levelIn = (kind: Kind) =>
  Type.Enum(Object.values(LEVELS).filter((level) => kind === "group" || level !== LEVELS.minimal));

const terms = (kind: Kind) => ({
  access_level: levelIn(kind),
  expires_at: Type.Optional(Nullable(DateOnly)),
});

export const NewMembers = (kind: Kind) =>
  Type.Object(
    {
      ...container,
      user_id: Type.Optional(
        Type.Union([Id, CommaList(Id, { minItems: 1, maxItems: MAX_USERS })], { description: "One id or several" }),
      ),
      username: Type.Optional(
        CommaList(Text(255), { minItems: 1, maxItems: MAX_USERS, description: "One username or several" }),
      ),
      ...terms(kind),
    },
    { atLeastOneOf: [["user_id", "username"]], mutuallyExclusive: [["user_id", "username"]] },
  );

export const MemberChanges = (kind: Kind) => Type.Object({ ...MemberId.properties, ...terms(kind) });

export const Removal = Type.Object({ ...MemberId.properties, skip_subresources: Flag });
