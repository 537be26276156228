import Type from "typebox";
import { DateOnly, Flag, Id, Line, Nullable } from "#http/params/vocabulary.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { Count, LabelNames } from "#domains/planning/items/params.ts";

export const ISSUE_TYPES = ["issue", "incident", "task", "test_case"] as const;

export const IssueId = Type.Object({ ...ProjectId.properties, issue_iid: Id });

const MAX_ASSIGNEES = 200;

const details = {
  description: Type.Optional(Nullable(Type.String({ maxLength: 1_048_576 }))),
  assignee_ids: Type.Optional(Nullable(Type.Array(Id, { maxItems: MAX_ASSIGNEES }))),
  assignee_id: Type.Optional(Nullable(Type.Integer({ minimum: 0, description: "One assignee; 0 for none" }))),
  labels: Type.Optional(Nullable(LabelNames)),
  milestone_id: Type.Optional(
    Nullable(Type.Integer({ minimum: 0, description: "Of the project or a group above; 0 for none" })),
  ),
  due_date: Type.Optional(Nullable(DateOnly)),
  start_date: Type.Optional(Nullable(DateOnly)),
  weight: Type.Optional(Nullable(Count)),
  confidential: Flag,
  discussion_locked: Flag,
  issue_type: Type.Optional(Type.Enum([...ISSUE_TYPES])),
};

const FOR_OWNERS = { description: "For Owners and administrators" };
/** Leaves enough numbers for the issues that follow. */
const MAX_CHOSEN_IID = 1_000_000_000;

export const NewIssue = Type.Object({
  ...ProjectId.properties,
  title: Line(255),
  ...details,
  iid: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_CHOSEN_IID, ...FOR_OWNERS })),
  created_at: Type.Optional(Type.String({ format: "date-time", ...FOR_OWNERS })),
});

const CHANGES = ["title", ...Object.keys(details), "state_event", "add_labels", "remove_labels"];

export const IssueChanges = Type.Object(
  {
    ...IssueId.properties,
    title: Type.Optional(Line(255)),
    ...details,
    state_event: Type.Optional(Type.Enum(["close", "reopen"])),
    add_labels: Type.Optional(Nullable(LabelNames)),
    remove_labels: Type.Optional(Nullable(LabelNames)),
  },
  { atLeastOneOf: [CHANGES] },
);

export const IssueMove = Type.Object({ ...IssueId.properties, to_project_id: Id });

export const IssuePosition = Type.Object(
  {
    ...IssueId.properties,
    move_after_id: Type.Optional(Type.Integer({ minimum: 0, description: "Id of the issue to place it after" })),
    move_before_id: Type.Optional(Type.Integer({ minimum: 0, description: "Id of the issue to place it before" })),
  },
  { atLeastOneOf: [["move_after_id", "move_before_id"]] },
);
