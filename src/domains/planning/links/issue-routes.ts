import { inProject } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { IssueId } from "#domains/planning/issues/params.ts";
import { type IssueRow, requireIssue } from "#domains/planning/issues/queries.ts";
import { createLink, removeLink } from "./actions.ts";
import { IssueLink, LinkedIssue, LinkGraph, presentIssueLink } from "./entity.ts";
import { linkGraph } from "./graph.ts";
import { endOf, namedIssue, requireUpdates } from "./issue-ends.ts";
import { ISSUES, SINGLE_ISSUES } from "./kinds.ts";
import { containerOf, GraphDepth, IssueLinkId, IssueLinkToDelete, NewIssueLink } from "./params.ts";
import { ALL_LINKS, type LinkRow, linksOf, requireLink } from "./queries.ts";
import { recordLink } from "./records.ts";
import { linkedViews, linkView } from "./views.ts";

const feature = "issues";
const reader = inProject("viewer", { feature, signedIn: true });
const writer = inProject("viewer", { feature, signedIn: true, unlessArchived: true });

export const issueLinks = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/links",
    summary: "List the issues that an issue is linked to, as far as the caller may see them",
    access: reader,
    params: IssueId,
    returns: pageOf(LinkedIssue, ALL_LINKS),
    async handle({ db, params, page, ...viewer }) {
      const issue = await requireIssue(db, viewer.project, viewer.actor, params.issue_iid);
      const links = await page.rows(linksOf(db, ISSUES, issue, viewer.actor));
      const linked = await linkedViews(db, SINGLE_ISSUES, issue, links, viewer);
      return linked.map(({ link, view }) => ({ ...view, issue_link_id: link.id }));
    },
  }),

  graph: endpoint({
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
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/issues/:issue_iid/links/:issue_link_id",
    summary: "Get a link of an issue, told from that issue",
    access: reader,
    params: IssueLinkId,
    returns: IssueLink,
    async handle({ db, project, params, ...viewer }) {
      const issue = await requireIssue(db, project, viewer.actor, params.issue_iid);
      const linked = await requireLink(db, ISSUES, issue, viewer.actor, params.issue_link_id);
      return presentIssueLink(await linkView(db, ISSUES, issue, linked, { ...viewer, project }));
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/issues/:issue_iid/links",
    summary: "Link two issues; requires the right to update both",
    access: writer,
    params: NewIssueLink,
    returns: IssueLink,
    audit: "issue_link_created",
    async handle({ project, params, audit, ...context }) {
      const { tx, actor, services } = context;
      const issue = await requireIssue(tx, project, actor, params.issue_iid);
      const other = await namedIssue(
        context,
        containerOf(params.target_project_id, project.id),
        params.target_issue_iid,
      );
      requireUpdates(actor, { issue, project }, other);
      const ends = { item: issue, other: other.issue, type: params.link_type };
      const { prevent_blocking_cycles } = await services.settings.current();
      const link = await createLink(tx, ISSUES, ends, !prevent_blocking_cycles);
      audit(targetOf(link, issue));
      const view = await linkView(tx, ISSUES, issue, { link, other: other.issue }, { ...context, project });
      await recordLink(tx, ISSUES, view, actor.user.id, "created");
      return presentIssueLink(view);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/projects/:id/issues/:issue_iid/links/:issue_link_id",
    summary: "Delete a link between issues; requires the right to update both",
    access: writer,
    params: IssueLinkToDelete,
    returns: IssueLink,
    audit: "issue_link_deleted",
    conditional: true,
    async handle({ project, params, audit, unlessModified, ...context }) {
      const { tx, actor } = context;
      const issue = await requireIssue(tx, project, actor, params.issue_iid);
      const linked = await requireLink(tx, ISSUES, issue, actor, params.issue_link_id);
      requireUpdates(actor, { issue, project }, await endOf(context, linked.other));
      unlessModified(linked.link.updated_at);
      const view = await linkView(tx, ISSUES, issue, linked, { ...context, project });
      await removeLink(tx, ISSUES, linked.link);
      await recordLink(tx, ISSUES, view, actor.user.id, "deleted");
      audit(targetOf(linked.link, issue));
      return presentIssueLink(view);
    },
  }),
};

const targetOf = ({ id, source_id, target_id, link_type }: LinkRow, { iid, project_id }: IssueRow) =>
  ({
    type: "IssueLink",
    id,
    name: `#${iid}`,
    details: { source_id, target_id, link_type },
    entity: { type: "Project", id: project_id },
  }) as const;
