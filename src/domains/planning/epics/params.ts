import Type from "typebox";
import { DateOnly, Flag, Nullable, Text } from "#http/params/vocabulary.ts";
import { GroupId } from "#domains/organization/groups/params.ts";
import { Iid, LabelNames } from "#domains/planning/items/params.ts";

export const EpicId = Type.Object({ ...GroupId.properties, epic_iid: Iid });

const Color = Type.String({ minLength: 1, maxLength: 255, description: "As `#RRGGBB`" });
const FixedDate = Type.Optional(Nullable(DateOnly));
const isFixed = (name: string) =>
  Type.Optional(Type.Boolean({ description: `Whether \`${name}\` counts instead of the dates of its children` }));

const details = {
  description: Type.Optional(Nullable(Type.String({ maxLength: 1_048_576 }))),
  color: Type.Optional(Color),
  confidential: Flag,
  labels: Type.Optional(Nullable(LabelNames)),
  start_date_fixed: FixedDate,
  start_date_is_fixed: isFixed("start_date_fixed"),
  due_date_fixed: FixedDate,
  due_date_is_fixed: isFixed("due_date_fixed"),
};

export const NewEpic = Type.Object({
  ...GroupId.properties,
  title: Text(255),
  ...details,
  created_at: Type.Optional(Type.String({ format: "date-time", description: "For Owners and administrators" })),
});
