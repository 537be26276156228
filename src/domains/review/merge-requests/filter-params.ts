import Type, { type Static } from "typebox";
import { CommaList, DateTime, Id } from "#http/params/vocabulary.ts";
import { GroupId } from "#domains/organization/groups/params.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { Iid, LabelFilter } from "#domains/planning/items/params.ts";

/** Words for rows without a value, and for rows with any. */
const Wildcard = Type.Enum(["None", "Any", "none", "any"]);
const MAX_IIDS = 100;
const Username = Type.Optional(Type.String({ maxLength: 255 }));
const Branch = Type.Optional(Type.String({ maxLength: 255 }));
const Milestone = Type.Optional(
  Type.String({
    maxLength: 255,
    description: "The title of the milestone; or `None`, `Any`, `Upcoming` or `Started`, as for issues",
  }),
);

const without = Type.Object({
  author_id: Type.Optional(Id),
  author_username: Username,
  assignee_id: Type.Optional(Id),
  assignee_username: Username,
  reviewer_id: Type.Optional(Id),
  reviewer_username: Username,
  labels: Type.Optional(LabelFilter()),
  milestone: Milestone,
});

export const MergeRequestFilters = Type.Object({
  state: Type.Optional(Type.Enum(["opened", "closed", "locked", "merged", "all"])),
  scope: Type.Optional(
    Type.Enum(
      ["created_by_me", "assigned_to_me", "reviews_for_me", "all", "created-by-me", "assigned-to-me", "reviews-for-me"],
      { description: "Whose merge requests; by default `created_by_me` of all projects, `all` of a group or project" },
    ),
  ),
  author_id: Type.Optional(Id),
  author_username: Username,
  assignee_id: Type.Optional(
    Type.Union([Id, Wildcard], { description: "Id of a user; `None` or 0 for unassigned ones, `Any` for assigned" }),
  ),
  assignee_username: Username,
  reviewer_id: Type.Optional(
    Type.Union([Id, Wildcard], {
      description: "Id of a user; `None` or 0 for those without reviewers, `Any` for others",
    }),
  ),
  reviewer_username: Username,
  labels: Type.Optional(
    LabelFilter("Names of labels, all of which it must have; `None` for those without any, `Any` for others"),
  ),
  milestone: Milestone,
  iids: Type.Optional(CommaList(Iid, { maxItems: MAX_IIDS })),
  source_branch: Branch,
  target_branch: Branch,
  draft: Type.Optional(Type.Boolean({ description: "Whether the title says that it is a draft" })),
  wip: Type.Optional(Type.Enum(["yes", "no"], { description: "The previous name of `draft`" })),
  search: Type.Optional(Type.String({ maxLength: 512, description: "Words of the title or description" })),
  in: Type.Optional(
    CommaList(Type.Enum(["title", "description"]), { description: "Where to search; in both if left out" }),
  ),
  created_after: Type.Optional(DateTime),
  created_before: Type.Optional(DateTime),
  updated_after: Type.Optional(DateTime),
  updated_before: Type.Optional(DateTime),
  not: Type.Optional(without),
  with_labels_details: Type.Optional(Type.Boolean({ description: "Whether labels are objects instead of names" })),
});
export type MergeRequestFilters = Static<typeof MergeRequestFilters>;

export const GroupMergeRequestFilters = Type.Object({
  ...GroupId.properties,
  ...MergeRequestFilters.properties,
  non_archived: Type.Boolean({ default: true, description: "Whether those of archived projects are left out" }),
});
export const ProjectMergeRequestFilters = Type.Object({ ...ProjectId.properties, ...MergeRequestFilters.properties });
