import type { UsersById } from "#domains/identity/users/summaries.ts";
import { itemUrl } from "#domains/conversation/items/item.ts";
import { referencesTo } from "#domains/planning/items/references.ts";
import type { IssueCounts } from "./counts.ts";
import type { Issue } from "./entity.ts";
import { ISSUE } from "./kind.ts";
import type { DescribedIssue, IssueRow } from "./queries.ts";
import { tasksOf } from "#domains/planning/items/tasks.ts";

/** What the view of an issue shows besides its row. */
export interface IssueSurroundings {
  readonly site: string;
  /** The full path of its project, and that of the container that the request names. */
  readonly path: string;
  readonly from: string;
  readonly users: UsersById;
  readonly labels: Issue["labels"];
  readonly counts: IssueCounts;
  /** The issue that it was moved to, if the caller may see that. */
  readonly movedTo: number | null;
  readonly epic: Issue["epic"];
  readonly milestone: Issue["milestone"];
}

/** The features that no issue has yet. */
const NOTHING_YET = {
  merge_requests_count: 0,
  time_stats: { time_estimate: 0, total_time_spent: 0, human_time_estimate: null, human_total_time_spent: null },
  severity: "UNKNOWN",
  imported: false,
  imported_from: "none",
  service_desk_reply_to: null,
  iteration: null,
  health_status: null,
} as const;

export function presentIssue(row: DescribedIssue, around: IssueSurroundings): Issue {
  const assignees = row.assignee_ids.flatMap((id) => around.users.get(id) ?? []);
  return {
    ...presentColumns(row),
    ...NOTHING_YET,
    ...presentTasks(row),
    ...presentAddresses(row, around),
    closed_by: around.users.get(row.closed_by_id) ?? null,
    author: around.users.get(row.author_id) ?? null,
    assignees,
    assignee: assignees[0] ?? null,
    labels: around.labels,
    milestone: around.milestone,
    moved_to_id: around.movedTo,
    blocking_issues_count: around.counts.blocking,
    user_notes_count: around.counts.comments,
    upvotes: around.counts.upvotes,
    downvotes: around.counts.downvotes,
    epic: around.epic,
    epic_iid: around.epic?.iid ?? null,
  };
}

const presentColumns = (row: DescribedIssue) => ({
  id: row.id,
  iid: row.iid,
  project_id: row.project_id,
  title: row.title,
  description: row.description,
  state: row.state,
  created_at: row.created_at,
  updated_at: row.updated_at,
  closed_at: row.closed_at,
  type: row.issue_type.toUpperCase() as Issue["type"],
  issue_type: row.issue_type,
  start_date: row.start_date,
  due_date: row.due_date,
  confidential: row.confidential,
  discussion_locked: row.discussion_locked,
  weight: row.weight,
});

function presentTasks(row: DescribedIssue) {
  const { count, completed } = tasksOf(row);
  return {
    task_completion_status: { count, completed_count: completed },
    has_tasks: count > 0,
    task_status: `${completed} of ${count} checklist item${count === 1 ? "" : "s"} completed`,
  };
}

function presentAddresses({ project_id, iid }: IssueRow, { site, path, from }: IssueSurroundings) {
  const project = `${site}/api/v4/projects/${project_id}`;
  const self = `${project}/issues/${iid}`;
  return {
    web_url: itemUrl(ISSUE, site, path, iid),
    references: { ...referencesTo(ISSUE, iid, path, from) },
    _links: {
      self,
      notes: `${self}/notes`,
      award_emoji: `${self}/award_emoji`,
      project,
      closed_as_duplicate_of: null,
    },
  };
}
