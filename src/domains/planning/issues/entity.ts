import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { DetailedLabels, LabelsOfItem } from "#domains/planning/labels/entity.ts";
import { Milestone } from "#domains/planning/milestones/entity.ts";
import { ISSUE_TYPES } from "./params.ts";

const exact = { additionalProperties: false };
const Text = Type.String();
const Whole = Type.Integer();
const Time = Type.String({ format: "date-time" });
const Day = Nullable(Type.String({ format: "date" }));

const EpicOfIssue = Type.Object(
  { id: Whole, iid: Whole, title: Text, url: Text, group_id: Whole },
  { ...exact, title: "EpicOfIssue" },
);

const issue = {
  id: Whole,
  iid: Whole,
  project_id: Whole,
  title: Text,
  description: Nullable(Text),
  state: Type.Enum(["opened", "closed"]),
  created_at: Time,
  updated_at: Time,
  closed_at: Nullable(Time),
  closed_by: Nullable(UserSummary),
  labels: LabelsOfItem,
  milestone: Nullable(Milestone),
  assignees: Type.Array(UserSummary),
  author: Nullable(UserSummary),
  type: Type.Enum(ISSUE_TYPES.map((type) => type.toUpperCase() as Uppercase<typeof type>)),
  assignee: Nullable(UserSummary),
  user_notes_count: Type.Integer({ description: "Comments that the caller may see" }),
  merge_requests_count: Whole,
  upvotes: Whole,
  downvotes: Whole,
  start_date: Day,
  due_date: Day,
  confidential: Type.Boolean(),
  discussion_locked: Nullable(Type.Boolean()),
  issue_type: Type.Enum([...ISSUE_TYPES]),
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
  task_completion_status: Type.Object({ count: Whole, completed_count: Whole }, exact),
  weight: Nullable(Whole),
  blocking_issues_count: Type.Integer({ description: "Open issues that it blocks, as far as the caller may see them" }),
  has_tasks: Type.Boolean(),
  task_status: Text,
  _links: Type.Object(
    { self: Text, notes: Text, award_emoji: Text, project: Text, closed_as_duplicate_of: Type.Null() },
    exact,
  ),
  references: Type.Object({ short: Text, relative: Text, full: Text }, exact),
  severity: Type.Literal("UNKNOWN"),
  moved_to_id: Type.Union([Whole, Type.Null()], { description: "Null also if the caller may not see that issue" }),
  imported: Type.Boolean(),
  imported_from: Type.Literal("none"),
  service_desk_reply_to: Type.Null(),
  epic_iid: Type.Union([Whole, Type.Null()], { plan: "premium" }),
  epic: Type.Union([EpicOfIssue, Type.Null()], { plan: "premium" }),
  iteration: Type.Null(),
  health_status: Type.Null(),
};

/** An issue as other items show it. */
export const Issue = Type.Object(issue, { ...exact, title: "Issue" });
export type Issue = Static<typeof Issue>;

/** An issue in lists of issues. */
export const ListedIssue = Type.Object({ ...issue, labels: DetailedLabels }, { ...exact, title: "ListedIssue" });

/** One issue, with what depends on the caller. */
export const SingleIssue = Type.Object({ ...issue, subscribed: Type.Boolean() }, { ...exact, title: "SingleIssue" });
export type SingleIssue = Static<typeof SingleIssue>;
