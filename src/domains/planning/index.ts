import type { ItemKind } from "#domains/conversation/items/item.ts";
import type { Domain } from "#domains/foundation/domain.ts";
import type { Resources } from "#http/app.ts";
import { awardEndpoints, noteAwardEndpoints } from "#domains/conversation/award-emoji/endpoints.ts";
import { planningConstraints } from "./constraints.ts";
import { planningDeletions } from "./deletions.ts";
import { discussionEndpoints } from "#domains/conversation/discussions/endpoints.ts";
import { childEpics } from "./epics/child-routes.ts";
import { epicIssues } from "./epics/issue-routes.ts";
import { EPICS, EPICS_BY_IID } from "./epics/resource.ts";
import { epics } from "./epics/routes.ts";
import { milestoneIssues } from "./issues/milestone-routes.ts";
import { ISSUES } from "./issues/resource.ts";
import { issues } from "./issues/routes.ts";
import { mergeLabels, removeLabelLinks } from "./labels/jobs.ts";
import { groupLabels, projectLabels } from "./labels/routes.ts";
import { clearMilestone, mergeMilestones } from "./milestones/jobs.ts";
import { groupMilestones, projectMilestones } from "./milestones/routes.ts";
import { planningSeeds } from "./seed.ts";
import { labelEventEndpoints } from "./label-events/endpoints.ts";
import { epicLinks } from "./links/epics.ts";
import { issueLinks } from "./links/issues.ts";
import { noteEndpoints } from "#domains/conversation/notes/endpoints.ts";
import { subscriptionEndpoints } from "#domains/attention/subscriptions/endpoints.ts";

const eventsOfIssue = labelEventEndpoints(ISSUES);
const eventsOfEpic = labelEventEndpoints(EPICS);
const labelEvents = {
  ...{ listOfIssue: eventsOfIssue.list, getOfIssue: eventsOfIssue.get },
  ...{ listOfEpic: eventsOfEpic.list, getOfEpic: eventsOfEpic.get },
};
const mailOfIssue = subscriptionEndpoints(ISSUES);
const mailOfEpic = subscriptionEndpoints(EPICS_BY_IID);
const subscriptions = {
  ...{ subscribeToIssue: mailOfIssue.subscribe, unsubscribeFromIssue: mailOfIssue.unsubscribe },
  ...{ subscribeToEpic: mailOfEpic.subscribe, unsubscribeFromEpic: mailOfEpic.unsubscribe },
};
const labels: Resources = { projectLabels, groupLabels, labelEvents };
const links: Resources = { epicLinks, issueLinks };
const notes: Resources = {
  epicNotes: noteEndpoints(EPICS),
  issueNotes: noteEndpoints(ISSUES),
  epicDiscussions: discussionEndpoints(EPICS),
  issueDiscussions: discussionEndpoints(ISSUES),
};
const awards: Resources = {
  epicAwards: awardEndpoints(EPICS_BY_IID),
  epicNoteAwards: noteAwardEndpoints(EPICS),
  issueAwards: awardEndpoints(ISSUES),
  issueNoteAwards: noteAwardEndpoints(ISSUES),
};
const milestones: Resources = { projectMilestones, groupMilestones, milestoneIssues };
const items: Resources = { epics, childEpics, epicIssues, issues };

/** Labels and milestones are of items of some kinds. */
export const planning = (kinds: readonly ItemKind[]): Domain => ({
  resources: { ...items, subscriptions, ...labels, ...milestones, ...links, ...notes, ...awards },
  jobs: [removeLabelLinks, mergeLabels(kinds), clearMilestone, mergeMilestones],
  constraints: planningConstraints,
  deletions: planningDeletions,
  seeds: planningSeeds,
});
