import type { Domain } from "#domains/foundation/domain.ts";
import type { Resources } from "#http/app.ts";
import { epicAwards, epicNoteAwards } from "./award-emoji/epic-routes.ts";
import { issueAwards, issueNoteAwards } from "./award-emoji/issue-routes.ts";
import { planningConstraints } from "./constraints.ts";
import { planningDeletions } from "./deletions.ts";
import { epicDiscussions } from "./discussions/epic-routes.ts";
import { issueDiscussions } from "./discussions/issue-routes.ts";
import { childEpics } from "./epics/child-routes.ts";
import { epicIssues } from "./epics/issue-routes.ts";
import { epics } from "./epics/routes.ts";
import { milestoneIssues } from "./issues/milestone-routes.ts";
import { issues } from "./issues/routes.ts";
import { mergeLabels, removeLabelLinks } from "./labels/jobs.ts";
import { groupLabels, projectLabels } from "./labels/routes.ts";
import { markdown } from "./markdown/routes.ts";
import { clearMilestone, mergeMilestones } from "./milestones/jobs.ts";
import { groupMilestones, projectMilestones } from "./milestones/routes.ts";
import { planningSeeds } from "./seed.ts";
import { labelEvents } from "./label-events/routes.ts";
import { epicLinks } from "./links/epic-routes.ts";
import { issueLinks } from "./links/issue-routes.ts";
import { queueNotifications, sendNotification } from "./notifications/jobs.ts";
import { notifications } from "./notifications/routes.ts";
import { epicNotes } from "./notes/epic-routes.ts";
import { issueNotes } from "./notes/issue-routes.ts";
import { notificationSettings } from "./notification-settings/routes.ts";
import { subscriptions } from "./subscriptions/routes.ts";
import { completeTodos } from "./todos/jobs.ts";
import { todos } from "./todos/routes.ts";

const labels: Resources = { projectLabels, groupLabels, labelEvents };
const links: Resources = { epicLinks, issueLinks };
const notes: Resources = { epicNotes, issueNotes, epicDiscussions, issueDiscussions };
const awards: Resources = { epicAwards, epicNoteAwards, issueAwards, issueNoteAwards };
const milestones: Resources = { projectMilestones, groupMilestones, milestoneIssues };
const items: Resources = { epics, childEpics, epicIssues, issues };
const personal: Resources = { todos, notifications, notificationSettings, subscriptions };
const resources: Resources = {
  ...items,
  markdown,
  ...personal,
  ...labels,
  ...milestones,
  ...links,
  ...notes,
  ...awards,
};

export const planning: Domain = {
  resources,
  jobs: [
    ...[removeLabelLinks, mergeLabels, clearMilestone, mergeMilestones],
    ...[completeTodos, queueNotifications, sendNotification],
  ],
  constraints: planningConstraints,
  deletions: planningDeletions,
  seeds: planningSeeds,
};
