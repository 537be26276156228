import type { Constraints } from "#db/errors.ts";
import { labelTaken, nameWithComma } from "#domains/planning/labels/actions.ts";
import { titleTaken } from "#domains/planning/milestones/actions.ts";
import { badFields, conflict, missing } from "#lib/refusal.ts";

const noProject = () => missing("Project");
const noGroup = () => missing("Group");
const noUser = () => missing("User");
const noIssue = () => missing("Issue");
const noEpic = () => missing("Epic");
const awardTaken = () => conflict("Name has already been taken");

/** A foreign key refuses a row if another request deleted the referenced one meanwhile. */
export const planningConstraints: Constraints = {
  labels_of_project_taken: labelTaken,
  labels_of_group_taken: labelTaken,
  // Lists of labels on issues and epics create labels too.
  labels_name_length: () => badFields({ name: ["is too long (maximum is 255 characters)"] }),
  labels_name_form: nameWithComma,
  labels_project_id_fkey: noProject,
  labels_group_id_fkey: noGroup,
  label_priorities_project_id_fkey: noProject,
  label_priorities_label_id_fkey: () => missing("Label"),
  issue_counters_project_id_fkey: noProject,
  epic_counters_group_id_fkey: noGroup,
  issues_project_id_fkey: noProject,
  issues_author_id_fkey: noUser,
  issues_closed_by_id_fkey: noUser,
  issues_moved_to_id_fkey: noIssue,
  issues_iid_taken: () => conflict("Duplicated issue"),
  epics_iid_taken: () => conflict("Duplicated epic"),
  issues_dates_in_order: () => badFields({ due_date: ["must be greater than or equal to start date"] }),
  issue_assignees_issue_id_fkey: noIssue,
  issue_assignees_user_id_fkey: noUser,
  epics_group_id_fkey: noGroup,
  epics_parent_id_fkey: noEpic,
  epics_author_id_fkey: noUser,
  epics_closed_by_id_fkey: noUser,
  epic_issues_epic_id_fkey: noEpic,
  epic_issues_issue_id_fkey: noIssue,
  label_links_issue_id_fkey: noIssue,
  label_links_epic_id_fkey: noEpic,
  label_events_issue_id_fkey: noIssue,
  label_events_epic_id_fkey: noEpic,
  label_events_user_id_fkey: noUser,
  todos_issue_id_fkey: noIssue,
  todos_epic_id_fkey: noEpic,
  subscriptions_issue_id_fkey: noIssue,
  subscriptions_epic_id_fkey: noEpic,
  issue_links_source_id_fkey: noIssue,
  issue_links_target_id_fkey: noIssue,
  issue_links_pair_taken: () => conflict("Issue(s) already assigned"),
  milestones_project_id_fkey: noProject,
  milestones_group_id_fkey: noGroup,
  milestones_of_project_taken: titleTaken,
  milestones_of_group_taken: titleTaken,
  milestones_dates_in_order: () => badFields({ due_date: ["must be greater than or equal to start date"] }),
  project_milestone_counters_project_id_fkey: noProject,
  group_milestone_counters_group_id_fkey: noGroup,
  epic_links_source_id_fkey: noEpic,
  epic_links_target_id_fkey: noEpic,
  epic_links_pair_taken: () => conflict("Epic(s) already assigned"),
  notes_issue_id_fkey: noIssue,
  notes_epic_id_fkey: noEpic,
  notes_other_issue_id_fkey: noIssue,
  notes_other_epic_id_fkey: noEpic,
  award_emoji_issue_id_fkey: noIssue,
  award_emoji_epic_id_fkey: noEpic,
  award_emoji_of_issue_taken: awardTaken,
  award_emoji_of_epic_taken: awardTaken,
};
