import Type from "typebox";
import { inGroup } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { EpicIssue, IssueOfEpic } from "./entity.ts";
import { addIssue, firstIssues, ISSUES_PAGING, issuesOf, type Joined, moveIssue, removeIssue } from "./issues.ts";
import { EPICS_API, EpicId, EpicIssueId, EpicIssuePosition, IssueOfEpicId } from "./params.ts";
import { requireEpic } from "./queries.ts";
import { epicIssueView, issueOfEpicViews } from "./views.ts";

const planner = inGroup("planner", { unlessArchived: true });

export const epicIssues = {
  list: endpoint({
    method: "GET",
    path: "/groups/:id/epics/:epic_iid/issues",
    summary: "List the issues of an epic",
    ...EPICS_API,
    access: inGroup("viewer"),
    params: EpicId,
    returns: pageOf(IssueOfEpic, ISSUES_PAGING),
    async handle({ db, params, page, ...viewer }) {
      const epic = await requireEpic(db, viewer.group, viewer.actor, params.epic_iid);
      return issueOfEpicViews(db, await page.rows(issuesOf(db, epic.id, viewer.actor)), viewer);
    },
  }),

  add: endpoint({
    method: "POST",
    path: "/groups/:id/epics/:epic_iid/issues/:epic_issue_id",
    summary: "Add an issue to an epic; it leaves the epic that it was in",
    ...EPICS_API,
    access: planner,
    params: IssueOfEpicId,
    returns: EpicIssue,
    audit: "epic_issue_added",
    async handle({ params, audit, ...write }) {
      const joined = await addIssue(write, params.epic_iid, params.epic_issue_id);
      audit(targetOf(joined));
      return epicIssueView(write.tx, joined, write);
    },
  }),

  move: endpoint({
    method: "PUT",
    path: "/groups/:id/epics/:epic_iid/issues/:epic_issue_id",
    summary: "Change the order of the issues of an epic; the first 100 are returned",
    ...EPICS_API,
    access: planner,
    params: EpicIssuePosition,
    returns: Type.Array(IssueOfEpic),
    audit: "epic_issues_reordered",
    async handle({ params, audit, ...write }) {
      const joined = await moveIssue(write, params.epic_iid, params.epic_issue_id, params);
      audit(targetOf(joined));
      return issueOfEpicViews(write.tx, await firstIssues(write.tx, joined.epic.id, write.actor), write);
    },
  }),

  remove: endpoint({
    method: "DELETE",
    path: "/groups/:id/epics/:epic_iid/issues/:epic_issue_id",
    summary: "Remove an issue from an epic; the issue itself stays",
    ...EPICS_API,
    access: planner,
    params: EpicIssueId,
    returns: EpicIssue,
    audit: "epic_issue_removed",
    async handle({ params, audit, ...write }) {
      const joined = await removeIssue(write, params.epic_iid, params.epic_issue_id);
      audit(targetOf(joined));
      return epicIssueView(write.tx, joined, write);
    },
  }),
};

const targetOf = ({ epic, issue }: Joined) =>
  ({
    type: "Epic",
    id: epic.id,
    name: `&${epic.iid}`,
    details: { issue_id: issue.id },
    entity: { type: "Group", id: epic.group_id },
  }) as const;
