import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { type Item, ITEM_NAMES } from "#domains/conversation/items/item.ts";
import { LabelDetails, presentLabelDetails } from "#domains/planning/labels/entity.ts";
import type { LabelEventRow } from "./queries.ts";

const exact = { additionalProperties: false };

/** A label that was added to or removed from an issue or epic. */
export const LabelEvent = Type.Object(
  {
    id: Type.Integer(),
    user: Nullable(UserSummary),
    created_at: Type.String({ format: "date-time" }),
    resource_type: Type.Enum([...ITEM_NAMES]),
    resource_id: Type.Integer({ description: "The id of the issue or epic, not its `iid`" }),
    label: Nullable(LabelDetails),
    action: Type.Enum(["add", "remove"]),
  },
  { ...exact, title: "LabelEvent" },
);

export const presentLabelEvent = (
  row: LabelEventRow,
  { kind, id }: Item,
  user: UserSummary | undefined,
): Static<typeof LabelEvent> => ({
  id: row.id,
  user: user ?? null,
  created_at: row.created_at,
  resource_type: kind.name,
  resource_id: id,
  label: labelOf(row),
  action: row.action,
});

/** Null once the label is deleted. */
function labelOf({ label_id, name, description, color }: LabelEventRow) {
  if (label_id === null || name === null || color === null) return null;
  return presentLabelDetails({ id: label_id, name, description, color });
}
