import { inProject } from "#access/containers.ts";
import { itemResource } from "#domains/conversation/items/resource.ts";
import { SingleIssue } from "./entity.ts";
import { ISSUE } from "./kind.ts";
import { IssueId } from "./params.ts";
import { requireIssue } from "./queries.ts";
import { issueView } from "./views.ts";

const feature = "issues";

export const ISSUES = itemResource({
  kind: ISSUE,
  path: "/projects/:id/issues/:issue_iid",
  params: IssueId,
  one: "an issue",
  availability: {},
  reader: inProject("viewer", { feature }),
  signedIn: inProject("viewer", { feature, signedIn: true }),
  writer: inProject("viewer", { feature, signedIn: true, unlessArchived: true }),
  async find(db, { project, actor }, { issue_iid }) {
    const { id, iid, discussion_locked } = await requireIssue(db, project, actor, issue_iid);
    const item = { kind: ISSUE, id, iid, project_id: project.id, locked: discussion_locked === true };
    return { ...item, place: "project", container: project, actor };
  },
  single: SingleIssue,
  show: async (db, { project, actor, site }, { issue_iid }) =>
    issueView(db, await requireIssue(db, project, actor, issue_iid), { actor, site, project }),
});
