import { inProject } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { createIssue } from "./actions.ts";
import { SingleIssue } from "./entity.ts";
import { IssueId, NewIssue } from "./params.ts";
import { requireIssue } from "./queries.ts";
import { issueView } from "./views.ts";

const feature = "issues";
const reader = inProject("viewer", { feature });
const writer = inProject("viewer", { feature, signedIn: true, unlessArchived: true });

export const issues = {
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
    summary: "Create an issue; labels, assignees, dates and weight take at least the role Planner",
    access: writer,
    params: NewIssue,
    returns: SingleIssue,
    audit: null,
    handle: ({ params, ...write }) => createIssue(write, params),
  }),
};
