import type { Constraints } from "#db/errors.ts";
import { conflict, missing, unprocessable } from "#lib/refusal.ts";

const noProject = () => missing("Project");
const noUser = () => missing("User");
const noMergeRequest = () => missing("MergeRequest");

/** A foreign key refuses a row if another request deleted the referenced one meanwhile. */
export const reviewConstraints: Constraints = {
  merge_request_counters_project_id_fkey: noProject,
  merge_requests_project_id_fkey: noProject,
  merge_requests_author_id_fkey: noUser,
  merge_requests_closed_by_id_fkey: noUser,
  merge_requests_iid_taken: () => conflict("Duplicated merge request"),
  merge_requests_open_taken: () => conflict("Another open merge request already exists for this source branch"),
  merge_requests_branches_differ: () => unprocessable("The source and the target branch must be different"),
  merge_request_assignees_merge_request_id_fkey: noMergeRequest,
  merge_request_assignees_user_id_fkey: noUser,
  merge_request_reviewers_merge_request_id_fkey: noMergeRequest,
  merge_request_reviewers_user_id_fkey: noUser,
  notes_merge_request_id_fkey: noMergeRequest,
  label_links_merge_request_id_fkey: noMergeRequest,
  label_events_merge_request_id_fkey: noMergeRequest,
  subscriptions_merge_request_id_fkey: noMergeRequest,
  award_emoji_merge_request_id_fkey: noMergeRequest,
  award_emoji_of_merge_request_taken: () => conflict("Name has already been taken"),
  todos_merge_request_id_fkey: noMergeRequest,
};
