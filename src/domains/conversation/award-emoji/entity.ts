import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { ITEM_NAMES } from "#domains/conversation/items/item.ts";
import type { Awardable, AwardRow } from "./queries.ts";

const Time = Type.String({ format: "date-time" });

/** An emoji that somebody gave to an item or a note. */
export const AwardEmoji = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    user: Nullable(UserSummary),
    created_at: Time,
    updated_at: Time,
    awardable_id: Type.Integer(),
    awardable_type: Type.Enum([...ITEM_NAMES, "Note"]),
    url: Type.Null(),
  },
  { additionalProperties: false, title: "AwardEmoji" },
);
export type AwardEmoji = Static<typeof AwardEmoji>;

export const presentAward = (
  { id, name, created_at, updated_at }: AwardRow,
  thing: Awardable,
  user: UserSummary | undefined,
): AwardEmoji => ({
  id,
  name,
  user: user ?? null,
  created_at,
  updated_at,
  awardable_id: thing.id,
  awardable_type: thing.column === "note_id" ? "Note" : thing.of.kind.name,
  url: null,
});
