import type { UsersById } from "#domains/identity/users/summaries.ts";
import type { ItemCounts } from "#domains/planning/items/counts.ts";
import { itemUrl } from "#domains/conversation/items/item.ts";
import { referencesTo } from "#domains/planning/items/references.ts";
import { tasksOf } from "#domains/planning/items/tasks.ts";
import { isDraft } from "./draft.ts";
import type { MergeRequest } from "./entity.ts";
import { MERGE_REQUEST } from "./kind.ts";
import type { DescribedMergeRequest } from "./queries.ts";

/** What the view of a merge request shows besides its row. */
interface Associations {
  readonly site: string;
  /** The full path of its project, and that of the container that the request names. */
  readonly path: string;
  readonly from: string;
  readonly users: UsersById;
  readonly labels: MergeRequest["labels"];
  readonly counts: ItemCounts;
  readonly milestone: MergeRequest["milestone"];
}

/** What is the same for every merge request as long as nothing can be merged. */
const NOTHING_YET = {
  ...{ merged_by: null, merge_user: null, merged_at: null, merge_after: null },
  ...{ merge_commit_sha: null, squash_commit_sha: null, should_remove_source_branch: null },
  merge_when_pipeline_succeeds: false,
  merge_status: "unchecked",
  has_conflicts: false,
  blocking_discussions_resolved: true,
  time_stats: { time_estimate: 0, total_time_spent: 0, human_time_estimate: null, human_total_time_spent: null },
  imported: false,
  imported_from: "none",
} as const;

export function presentMergeRequest(row: DescribedMergeRequest, around: Associations): MergeRequest {
  const peopleOf = (ids: readonly number[]) => ids.flatMap((id) => around.users.get(id) ?? []);
  const assignees = peopleOf(row.assignee_ids);
  const draft = isDraft(row.title);
  const { count, completed } = tasksOf(row);
  const references = referencesTo(MERGE_REQUEST, row.iid, around.path, around.from);
  return {
    ...presentColumns(row),
    ...NOTHING_YET,
    closed_by: around.users.get(row.closed_by_id) ?? null,
    author: around.users.get(row.author_id) ?? null,
    assignees,
    assignee: assignees[0] ?? null,
    reviewers: peopleOf(row.reviewer_ids),
    labels: around.labels,
    milestone: around.milestone,
    user_notes_count: around.counts.comments,
    upvotes: around.counts.upvotes,
    downvotes: around.counts.downvotes,
    draft,
    work_in_progress: draft,
    detailed_merge_status: row.state === "opened" ? "unchecked" : "not_open",
    task_completion_status: { count, completed_count: completed },
    reference: references.short,
    references: { ...references },
    web_url: itemUrl(MERGE_REQUEST, around.site, around.path, row.iid),
  };
}

const presentColumns = (row: DescribedMergeRequest) => ({
  id: row.id,
  iid: row.iid,
  project_id: row.project_id,
  source_project_id: row.project_id,
  target_project_id: row.project_id,
  title: row.title,
  description: row.description,
  state: row.state,
  created_at: row.created_at,
  prepared_at: row.created_at,
  updated_at: row.updated_at,
  closed_at: row.closed_at,
  target_branch: row.target_branch,
  source_branch: row.source_branch,
  sha: row.head_commit_id,
  discussion_locked: row.discussion_locked,
  force_remove_source_branch: row.remove_source_branch,
  squash: row.squash,
  squash_on_merge: row.squash,
});
