import Type from "typebox";
import { LEVELS } from "#access/roles.ts";
import { CommaList, DateOnly, Flag, Id, Nullable, Text } from "#http/params/vocabulary.ts";
import type { Kind } from "./access.ts";

const MOST_AT_ONCE = 100;

const place = { id: Type.String({ description: "Id or full path" }) };

export const MemberFilters = Type.Object({
  ...place,
  query: Type.Optional(Type.String({ maxLength: 255, description: "Part of the name or username" })),
  user_ids: Type.Optional(CommaList(Id, { maxItems: MOST_AT_ONCE })),
  state: Type.Optional(Type.Enum(["awaiting", "active"], { description: "Everybody is active" })),
});

export const MemberId = Type.Object({ ...place, user_id: Id });

/** Minimal access is to a group alone. */
const levelIn = (kind: Kind) =>
  Type.Enum(Object.values(LEVELS).filter((level) => kind === "group" || level !== LEVELS.minimal));

const worth = (kind: Kind) => ({
  access_level: levelIn(kind),
  expires_at: Type.Optional(Nullable(DateOnly)),
});

export const NewMembers = (kind: Kind) =>
  Type.Object(
    {
      ...place,
      user_id: Type.Optional(
        Type.Union([Id, CommaList(Id, { minItems: 1, maxItems: MOST_AT_ONCE })], { description: "One id or several" }),
      ),
      username: Type.Optional(
        CommaList(Text(255), { minItems: 1, maxItems: MOST_AT_ONCE, description: "One username or several" }),
      ),
      ...worth(kind),
    },
    { atLeastOneOf: [["user_id", "username"]], mutuallyExclusive: [["user_id", "username"]] },
  );

export const MemberChanges = (kind: Kind) => Type.Object({ ...MemberId.properties, ...worth(kind) });

export const Removal = Type.Object({ ...MemberId.properties, skip_subresources: Flag });
