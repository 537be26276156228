import Type from "typebox";
import { Flag, Id, Line, Nullable } from "#http/params/vocabulary.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { LabelNames } from "#domains/planning/items/params.ts";

export const MergeRequestId = Type.Object({ ...ProjectId.properties, merge_request_iid: Id });

/** For each of assignees and reviewers. */
const MAX_PEOPLE = 200;
const MAX_BRANCH_LENGTH = 255;

const Branch = Type.String({ minLength: 1, maxLength: MAX_BRANCH_LENGTH });
const People = Type.Optional(Nullable(Type.Array(Id, { maxItems: MAX_PEOPLE })));

const details = {
  description: Type.Optional(Nullable(Type.String({ maxLength: 1_048_576 }))),
  assignee_ids: People,
  assignee_id: Type.Optional(Nullable(Type.Integer({ minimum: 0, description: "One assignee; 0 for none" }))),
  reviewer_ids: People,
  labels: Type.Optional(Nullable(LabelNames)),
  milestone_id: Type.Optional(
    Nullable(Type.Integer({ minimum: 0, description: "Of the project or a group above; 0 for none" })),
  ),
  squash: Flag,
  remove_source_branch: Flag,
  discussion_locked: Flag,
};

export const NewMergeRequest = Type.Object({
  ...ProjectId.properties,
  title: Line(255),
  source_branch: Branch,
  target_branch: Branch,
  target_project_id: Type.Optional(
    Nullable(Type.Integer({ minimum: 0, description: "The project itself: there are no forks yet" })),
  ),
  ...details,
});

const CHANGES = ["title", "target_branch", ...Object.keys(details), "state_event", "add_labels", "remove_labels"];

export const MergeRequestChanges = Type.Object(
  {
    ...MergeRequestId.properties,
    title: Type.Optional(Line(255)),
    target_branch: Type.Optional(Branch),
    ...details,
    state_event: Type.Optional(Type.Enum(["close", "reopen"])),
    add_labels: Type.Optional(Nullable(LabelNames)),
    remove_labels: Type.Optional(Nullable(LabelNames)),
  },
  { atLeastOneOf: [CHANGES] },
);
