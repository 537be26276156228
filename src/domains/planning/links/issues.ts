import Type from "typebox";
import { inProject, mayUse, type ProjectSeen, visibleProject } from "#access/containers.ts";
import { resolveProject } from "#access/paths.ts";
import type { Actor } from "#access/principal.ts";
import { endpoint } from "#http/endpoint.ts";
import { Id } from "#http/params/vocabulary.ts";
import { forbidden, missing } from "#lib/refusal.ts";
import type { Issue } from "#domains/planning/issues/entity.ts";
import { ISSUE } from "#domains/planning/issues/kind.ts";
import { IssueId } from "#domains/planning/issues/params.ts";
import { type IssueRow, requireIssue, visibleIssues } from "#domains/planning/issues/queries.ts";
import { mayUpdate } from "#domains/planning/issues/rights.ts";
import { issueViews, singleIssueViews } from "#domains/planning/issues/views.ts";
import { linkEndpoints } from "./endpoints.ts";
import { IssueLink, LinkedIssue, LinkGraph, presentIssueLink } from "./entity.ts";
import { linkGraph } from "./graph.ts";
import { type LinkKind, linkResource } from "./kinds.ts";
import { containerOf, containerParam, GraphDepth } from "./params.ts";
import { noLink } from "./queries.ts";

const ISSUE_LINKS: LinkKind<IssueRow, Issue> = {
  item: ISSUE,
  links: "issue_links",
  visible: visibleIssues,
  isFamily: () => false,
  containerId: ({ project_id }) => project_id,
  views: issueViews,
};

const feature = "issues";
const reader = inProject("viewer", { feature, signedIn: true });

/** Refuses a caller who may not update an issue of a project. */
function requireUpdate(actor: Actor, project: ProjectSeen, issue: IssueRow) {
  if (!mayUpdate({ actor, project }, issue)) throw forbidden("Requires the right to update both issues");
  if (project.archived) throw forbidden("The project is archived");
}

const { list, get, create, ...others } = linkEndpoints(
  linkResource({
    kind: ISSUE_LINKS,
    path: "/projects/:id/issues/:issue_iid/links",
    linkId: "issue_link_id",
    both: "issues",
    needed: "the right to update both",
    availability: {},
    reader,
    writer: inProject("viewer", { feature, signedIn: true, unlessArchived: true }),
    params: IssueId,
    target: Type.Object({ target_project_id: containerParam("project"), target_issue_iid: Id }),
    find: (db, { project, actor }, { issue_iid }) => requireIssue(db, project, actor, issue_iid),
    async findTarget({ tx, project, actor, services: { db } }, { target_project_id, target_issue_iid }) {
      const { id } = await resolveProject(db, String(containerOf(target_project_id, project.id)));
      const target = await visibleProject(db, actor, id);
      if (!target) throw missing("Project");
      return mayUse(actor, target, feature) ? requireIssue(tx, target, actor, target_issue_iid) : noLink();
    },
    async requireRights({ project, actor, services: { db } }, issue, other) {
      requireUpdate(actor, project, issue);
      requireUpdate(actor, (await visibleProject(db, actor, other.project_id)) ?? noLink(), other);
    },
    linked: LinkedIssue,
    linkedViews: singleIssueViews,
    link: IssueLink,
    present: presentIssueLink,
  }),
);

const graph = endpoint({
  method: "GET",
  path: "/projects/:id/issues/:issue_iid/links/graph",
  summary: "Get the issues around an issue and the links between them, as far as the caller may see them",
  access: reader,
  params: GraphDepth,
  returns: LinkGraph,
  async handle({ db, project, params, ...viewer }) {
    const issue = await requireIssue(db, project, viewer.actor, params.issue_iid);
    return linkGraph(db, issue, params.depth, { ...viewer, project });
  },
});

export const issueLinks = { list, graph, get, create, ...others };
