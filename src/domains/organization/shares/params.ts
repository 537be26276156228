import Type from "typebox";
import { LEVELS } from "#access/roles.ts";
import { DateOnly, Id, Nullable } from "#http/params/vocabulary.ts";

const container = { id: Type.String({ description: "Id or full path" }) };

export const NewShare = Type.Object({
  ...container,
  group_id: Id,
  group_access: Type.Enum(Object.values(LEVELS).filter((level) => level !== LEVELS.minimal)),
  expires_at: Type.Optional(Nullable(DateOnly)),
});

export const ShareId = Type.Object({ ...container, group_id: Id });
