import Type, { type Static } from "typebox";
import { CommaList, DateOnly, DateTime, Flag, Id, Line, Nullable } from "#http/params/vocabulary.ts";
import { GroupId } from "#domains/organization/groups/params.ts";
import { MAX_COLOR_LENGTH } from "#domains/planning/items/colors.ts";
import { Iid, LabelFilter, LabelNames } from "#domains/planning/items/params.ts";

/** The whole API of epics, with what belongs to one, is deprecated since release 17.0. */
export const EPICS_API = {
  plan: "premium",
  deprecated: { since: "2024-05-16", replacement: "the API of work items, which does not exist here yet" },
} as const;

export const EpicId = Type.Object({ ...GroupId.properties, epic_iid: Id });

export const EpicByAnyId = Type.Object({
  ...GroupId.properties,
  epic_id: Type.Integer({ minimum: 0, description: "Its id; if the group has no epic with that id, its `iid`" }),
});

const Color = Type.String({ minLength: 1, maxLength: MAX_COLOR_LENGTH, description: "`#rrggbb` or a name of CSS" });
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

const parent = {
  parent_id: Type.Optional(
    Nullable(Type.Integer({ minimum: 0, description: "Id of an epic in the same group or a group above" })),
  ),
};

export const NewEpic = Type.Object({
  ...GroupId.properties,
  title: Line(255),
  ...details,
  ...parent,
  created_at: Type.Optional(Type.String({ format: "date-time", description: "For Owners and administrators" })),
});
export type NewEpic = Static<typeof NewEpic>;

const labelling = {
  add_labels: Type.Optional(Nullable(LabelNames)),
  remove_labels: Type.Optional(Nullable(LabelNames)),
};
const changes = {
  title: Type.Optional(Line(255)),
  ...details,
  ...parent,
  ...labelling,
  state_event: Type.Optional(Type.Enum(["close", "reopen"])),
};

export const EpicChanges = Type.Object({ ...EpicId.properties, ...changes }, { atLeastOneOf: [Object.keys(changes)] });
export type EpicChanges = Static<typeof EpicChanges>;

const withLabelDetails = {
  with_labels_details: Type.Optional(Type.Boolean({ description: "Labels as objects instead of names" })),
};

export const EpicView = Type.Object({ ...EpicId.properties, ...withLabelDetails });

export const EpicFilters = Type.Object({
  ...GroupId.properties,
  state: Type.Enum(["opened", "closed", "all"], { default: "all" }),
  labels: Type.Optional(LabelFilter("All of these labels, or `Any` or `None`")),
  not: Type.Optional(Type.Object({ labels: Type.Optional(LabelFilter()) })),
  author_id: Type.Optional(Id),
  author_username: Type.Optional(Type.String({ maxLength: 255 })),
  search: Type.Optional(Type.String({ maxLength: 512, description: "Words of the title or description" })),
  created_after: Type.Optional(DateTime),
  created_before: Type.Optional(DateTime),
  updated_after: Type.Optional(DateTime),
  updated_before: Type.Optional(DateTime),
  confidential: Flag,
  parent_id: Type.Optional(Id),
  iids: Type.Optional(CommaList(Iid, { maxItems: 100 })),
  include_ancestor_groups: Type.Boolean({ default: false }),
  include_descendant_groups: Type.Boolean({ default: true }),
  ...withLabelDetails,
});

export const ChildEpicId = Type.Object({ ...EpicId.properties, child_epic_id: Id });
export const NewChildEpic = Type.Object({
  ...EpicId.properties,
  title: Line(255),
  confidential: Type.Optional(Type.Boolean({ description: "That of the parent without it" })),
});

const position = {
  move_before_id: Type.Optional(Type.Integer({ minimum: 0, description: "The one that is to come before it" })),
  move_after_id: Type.Optional(Type.Integer({ minimum: 0, description: "The one that is to come after it" })),
};
export type NewPosition = Pick<Static<typeof ChildEpicPosition>, keyof typeof position>;
const NAMED = { atLeastOneOf: [Object.keys(position)] };

export const ChildEpicPosition = Type.Object({ ...ChildEpicId.properties, ...position }, NAMED);

/** A path has one name for its last part: here it is the issue, later its place in the epic. */
export const IssueOfEpicId = Type.Object({
  ...EpicId.properties,
  epic_issue_id: Type.Integer({ minimum: 0, description: "The id of the issue" }),
});
export const EpicIssueId = Type.Object({ ...EpicId.properties, epic_issue_id: Id });
export const EpicIssuePosition = Type.Object({ ...EpicIssueId.properties, ...position }, NAMED);
