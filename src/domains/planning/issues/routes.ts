import Type from "typebox";
import { administrator, signedIn } from "#access/access.ts";
import { inGroup, inProject } from "#access/containers.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Id } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { presentSummary } from "#domains/identity/users/present.ts";
import { participantsOf } from "#domains/planning/items/participants.ts";
import { maySeeInternal } from "#domains/conversation/notes/visibility.ts";
import { changeIssue, deleteIssue } from "./actions.ts";
import { SingleIssue } from "./entity.ts";
import { GroupIssueCountFilters, GroupIssueFilters, IssueCountFilters, IssueFilters } from "./filter-params.ts";
import { ProjectIssueCountFilters, ProjectIssueFilters } from "./filter-params.ts";
import { ISSUE } from "./kind.ts";
import { listEverywhere, listOfGroup, listOfProject } from "./list.ts";
import { moveIssue, targetOfMove } from "./move.ts";
import { createIssue } from "./new-issue.ts";
import { IssueChanges, IssueId, IssueMove, IssuePosition, NewIssue } from "./params.ts";
import { IssuePage, pageOfIssues } from "./pages.ts";
import { type IssueRow, requireIssue, requireIssueById } from "./queries.ts";
import { reorderIssue } from "./reorder.ts";
import { IssueStatistics, statisticsOf } from "./statistics.ts";
import { issueView } from "./views.ts";

const feature = "issues";
const reader = inProject("viewer", { feature });
const writer = inProject("viewer", { feature, signedIn: true, unlessArchived: true });

export const issues = {
  list: endpoint({
    method: "GET",
    path: "/issues",
    summary: "List issues: those that the caller created, or with `scope` others",
    access: signedIn(),
    params: IssueFilters,
    returns: IssuePage,
    handle: (request) => pageOfIssues(request, listEverywhere(request.actor, request.params)),
  }),

  listOfGroup: endpoint({
    method: "GET",
    path: "/groups/:id/issues",
    summary: "List the issues of a group and the groups below it",
    access: inGroup("viewer"),
    params: GroupIssueFilters,
    returns: IssuePage,
    handle: ({ group, ...request }) =>
      pageOfIssues({ group, ...request }, listOfGroup(group, request.actor, request.params)),
  }),

  listOfProject: endpoint({
    method: "GET",
    path: "/projects/:id/issues",
    summary: "List the issues of a project",
    access: reader,
    params: ProjectIssueFilters,
    returns: IssuePage,
    handle: ({ project, ...request }) =>
      pageOfIssues({ project, ...request }, listOfProject(project, request.actor, request.params)),
  }),

  statistics: endpoint({
    method: "GET",
    path: "/issues_statistics",
    summary: "Count issues by their state",
    access: signedIn(),
    params: IssueCountFilters,
    returns: IssueStatistics,
    handle: ({ databases, actor, params }) => statisticsOf(databases, listEverywhere(actor, params)),
  }),

  statisticsOfGroup: endpoint({
    method: "GET",
    path: "/groups/:id/issues_statistics",
    summary: "Count the issues of a group and the groups below it by their state",
    access: inGroup("viewer"),
    params: GroupIssueCountFilters,
    returns: IssueStatistics,
    handle: ({ databases, group, actor, params }) => statisticsOf(databases, listOfGroup(group, actor, params)),
  }),

  statisticsOfProject: endpoint({
    method: "GET",
    path: "/projects/:id/issues_statistics",
    summary: "Count the issues of a project by their state",
    access: reader,
    params: ProjectIssueCountFilters,
    returns: IssueStatistics,
    handle: ({ databases, project, actor, params }) => statisticsOf(databases, listOfProject(project, actor, params)),
  }),

  getById: endpoint({
    method: "GET",
    path: "/issues/:id",
    summary: "Get an issue by its id",
    access: administrator(),
    params: Type.Object({ id: Id }),
    returns: SingleIssue,
    async handle({ db, actor, params, site }) {
      return issueView(db, await requireIssueById(db, actor, params.id), { actor, site });
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid",
    summary: "Get an issue of a project",
    access: reader,
    params: IssueId,
    returns: SingleIssue,
    async handle({ db, project, actor, params, site }) {
      return issueView(db, await requireIssue(db, project, actor, params.issue_iid), { actor, site, project });
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/issues",
    summary: "Create an issue; labels, milestone, assignees, dates and weight require at least the Planner role",
    access: writer,
    params: NewIssue,
    returns: SingleIssue,
    audit: auditedForOthers("issue_created"),
    transaction: "own",
    handle: ({ params, ...write }) => createIssue(write, params),
  }),

  update: endpoint({
    method: "PUT",
    path: "/projects/:id/issues/:issue_iid",
    summary: "Change an issue; authors and assignees without the Planner role change its text and state",
    access: writer,
    params: IssueChanges,
    returns: SingleIssue,
    audit: auditedForOthers("issue_changed"),
    handle: async ({ params, ...write }) => issueView(write.tx, await changeIssue(write, params), write),
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/projects/:id/issues/:issue_iid",
    summary: "Delete an issue, as Planner or Owner",
    access: inProject("planner", { feature, unlessArchived: true }),
    params: IssueId,
    audit: "issue_deleted",
    conditional: true,
    async handle({ tx, project, actor, params, audit, unlessModified }) {
      const issue = await deleteIssue(tx, project, actor, params.issue_iid);
      unlessModified(issue.updated_at);
      audit(targetOf(issue));
    },
  }),

  move: endpoint({
    method: "POST",
    path: "/projects/:id/issues/:issue_iid/move",
    summary: "Move an issue to another project, as Planner of both; the old one is closed and refers to the new one",
    access: writer,
    params: IssueMove,
    returns: SingleIssue,
    audit: "issue_moved",
    prepare: async ({ actor, project, params, services: { db } }) => ({
      target: await targetOfMove(db, actor, project, params),
    }),
    async handle({ params, target, ...write }) {
      const issue = await moveIssue(write, target, params.issue_iid);
      const { iid: to_iid, project_id: to_project } = issue;
      write.audit({
        ...targetOf({ ...issue, iid: params.issue_iid, project_id: write.project.id }),
        details: { to_project, to_iid },
      });
      return issueView(write.tx, issue, { ...write, project: target });
    },
  }),

  reorder: endpoint({
    method: "PUT",
    path: "/projects/:id/issues/:issue_iid/reorder",
    summary: "Place an issue before or after others in the order `relative_position`",
    access: writer,
    params: IssuePosition,
    returns: SingleIssue,
    audit: auditedForOthers("issue_reordered"),
    handle: async ({ params, ...write }) => issueView(write.tx, await reorderIssue(write, params), write),
  }),

  participants: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/participants",
    summary: "List the people who take part in an issue: its author, its assignees and those who commented",
    access: reader,
    params: IssueId,
    returns: pageOf(UserSummary, { id: "u.id" }),
    async handle({ db, project, actor, params, page, site }) {
      const issue = await requireIssue(db, project, actor, params.issue_iid);
      const people = participantsOf(db, { kind: ISSUE, id: issue.id }, maySeeInternal(project, actor));
      return page(people, presentSummary(site));
    },
  }),
};

/** The audit log names an issue by its number, since not everybody who reads it may see a confidential title. */
const targetOf = ({ id, iid, project_id }: IssueRow) =>
  ({ type: "Issue", id, name: `#${iid}`, entity: { type: "Project", id: project_id } }) as const;
