import Type from "typebox";
import { CommaList, DateTime, Flag, Id } from "#http/params/vocabulary.ts";
import { GroupId } from "#domains/organization/groups/params.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { Count, Iid, LabelFilter, MAX_FILTER_NAMES } from "#domains/planning/items/params.ts";
import { ISSUE_TYPES } from "./params.ts";

/** Words for rows without a value, and for rows with any. */
const Wildcard = Type.Enum(["None", "Any", "none", "any"]);

const MAX_IIDS = 100;
const Username = Type.String({ maxLength: 255 });
const MilestoneTitle = Type.Optional(
  Type.String({
    maxLength: 255,
    description: "The title of the milestone; or `None`, `Any`, `Upcoming` or `Started`, as in `milestone_id`",
  }),
);
const MilestoneId = Type.Optional(
  Type.Union([Id, Type.Enum(["None", "Any", "Upcoming", "Started", "none", "any", "upcoming", "started"])], {
    description:
      "Id of a milestone; `None` for issues without one, `Any` for others; of active ones `Upcoming` if they start in the future, `Started` if they are under way",
  }),
);
const Iids = Type.Optional(CommaList(Iid, { maxItems: MAX_IIDS }));

const people = {
  author_id: Type.Optional(Id),
  author_username: Type.Optional(Username),
  assignee_username: Type.Optional(CommaList(Username, { maxItems: MAX_FILTER_NAMES })),
};

const without = Type.Object({
  ...people,
  assignee_id: Type.Optional(Id),
  labels: Type.Optional(LabelFilter()),
  milestone: MilestoneTitle,
  milestone_id: MilestoneId,
  iids: Iids,
  weight: Type.Optional(Count),
  epic_id: Type.Optional(Id),
});

export const IssueCountFilters = Type.Object({
  ...people,
  assignee_id: Type.Optional(
    Type.Union([Id, Wildcard], { description: "Id of a user; `None` or 0 for unassigned issues, `Any` for assigned" }),
  ),
  labels: Type.Optional(
    LabelFilter("Names of labels, all of which an issue must have; `None` for issues without any, `Any` for others"),
  ),
  milestone: MilestoneTitle,
  milestone_id: MilestoneId,
  iids: Iids,
  weight: Type.Optional(Type.Union([Count, Wildcard])),
  epic_id: Type.Optional(Type.Union([Id, Wildcard])),
  issue_type: Type.Optional(Type.Enum([...ISSUE_TYPES])),
  confidential: Flag,
  search: Type.Optional(Type.String({ maxLength: 512, description: "Words of the title or description" })),
  in: Type.Optional(
    CommaList(Type.Enum(["title", "description"]), { description: "Where to search; in both if left out" }),
  ),
  created_after: Type.Optional(DateTime),
  created_before: Type.Optional(DateTime),
  updated_after: Type.Optional(DateTime),
  updated_before: Type.Optional(DateTime),
  scope: Type.Optional(
    Type.Enum(["created_by_me", "assigned_to_me", "all", "created-by-me", "assigned-to-me"], {
      description: "Whose issues; by default `created_by_me` of all projects, `all` of a group or project",
    }),
  ),
  not: Type.Optional(without),
});

export const IssueFilters = Type.Object({
  ...IssueCountFilters.properties,
  state: Type.Optional(Type.Enum(["opened", "closed", "all"])),
  due_date: Type.Optional(
    Type.Enum(["0", "any", "today", "tomorrow", "overdue", "week", "month", "next_month_and_previous_two_weeks"], {
      description: "When issues are due; `0` for those without a due date",
    }),
  ),
  with_labels_details: Type.Optional(Type.Boolean({ description: "Whether labels are objects instead of names" })),
});

const ofGroup = {
  ...GroupId.properties,
  non_archived: Type.Boolean({ default: true, description: "Whether issues of archived projects are left out" }),
};

export const GroupIssueFilters = Type.Object({ ...ofGroup, ...IssueFilters.properties });
export const ProjectIssueFilters = Type.Object({ ...ProjectId.properties, ...IssueFilters.properties });
export const GroupIssueCountFilters = Type.Object({ ...ofGroup, ...IssueCountFilters.properties });
export const ProjectIssueCountFilters = Type.Object({ ...ProjectId.properties, ...IssueCountFilters.properties });
