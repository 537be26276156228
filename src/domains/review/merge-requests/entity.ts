import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { DetailedLabels, LabelsOfItem } from "#domains/planning/labels/entity.ts";
import { Milestone } from "#domains/planning/milestones/entity.ts";

const exact = { additionalProperties: false };
const Text = Type.String();
const Whole = Type.Integer();
const Time = Type.String({ format: "date-time" });

export const STATES = ["opened", "closed", "merged", "locked"] as const;

const mergeRequest = {
  id: Whole,
  iid: Whole,
  project_id: Whole,
  title: Text,
  description: Nullable(Text),
  state: Type.Enum([...STATES]),
  created_at: Time,
  updated_at: Time,
  merged_by: Type.Null(),
  merge_user: Type.Null(),
  merged_at: Type.Null(),
  closed_by: Nullable(UserSummary),
  closed_at: Nullable(Time),
  target_branch: Text,
  source_branch: Text,
  source_project_id: Whole,
  target_project_id: Whole,
  user_notes_count: Type.Integer({ description: "Comments that the caller may see" }),
  upvotes: Whole,
  downvotes: Whole,
  author: Nullable(UserSummary),
  assignees: Type.Array(UserSummary),
  assignee: Nullable(UserSummary),
  reviewers: Type.Array(UserSummary),
  labels: LabelsOfItem,
  draft: Type.Boolean({ description: "Whether the title begins with `Draft:`, `[Draft]` or `(Draft)`" }),
  work_in_progress: Type.Boolean({ description: "The previous name of `draft`" }),
  milestone: Nullable(Milestone),
  merge_when_pipeline_succeeds: Type.Literal(false),
  merge_status: Type.Literal("unchecked"),
  detailed_merge_status: Type.Enum(["unchecked", "not_open"], {
    description: "`unchecked`: whether the branches can be merged has not been looked at",
  }),
  merge_after: Type.Null(),
  sha: Type.Union([Text, Type.Null()], { description: "The commit that the source branch was at" }),
  merge_commit_sha: Type.Null(),
  squash_commit_sha: Type.Null(),
  discussion_locked: Nullable(Type.Boolean()),
  should_remove_source_branch: Nullable(Type.Boolean()),
  force_remove_source_branch: Nullable(Type.Boolean()),
  prepared_at: Time,
  reference: Text,
  references: Type.Object({ short: Text, relative: Text, full: Text }, exact),
  web_url: Text,
  time_stats: Type.Object(
    {
      time_estimate: Whole,
      total_time_spent: Whole,
      human_time_estimate: Type.Null(),
      human_total_time_spent: Type.Null(),
    },
    exact,
  ),
  squash: Type.Boolean(),
  squash_on_merge: Type.Boolean(),
  task_completion_status: Type.Object({ count: Whole, completed_count: Whole }, exact),
  has_conflicts: Type.Literal(false),
  blocking_discussions_resolved: Type.Literal(true),
  imported: Type.Literal(false),
  imported_from: Type.Literal("none"),
};

/** A merge request as other items show it. */
export const MergeRequest = Type.Object(mergeRequest, { ...exact, title: "MergeRequest" });
export type MergeRequest = Static<typeof MergeRequest>;

/** A merge request in lists of merge requests. */
export const ListedMergeRequest = Type.Object(
  { ...mergeRequest, labels: DetailedLabels },
  { ...exact, title: "ListedMergeRequest" },
);

/** One merge request, with what depends on the caller. */
export const SingleMergeRequest = Type.Object(
  {
    ...mergeRequest,
    subscribed: Type.Boolean(),
    changes_count: Type.Null(),
    pipeline: Type.Null(),
    head_pipeline: Type.Null(),
    diff_refs: Type.Null(),
    merge_error: Type.Null(),
  },
  { ...exact, title: "SingleMergeRequest" },
);
export type SingleMergeRequest = Static<typeof SingleMergeRequest>;
