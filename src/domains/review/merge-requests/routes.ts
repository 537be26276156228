import { signedIn } from "#access/access.ts";
import { inGroup, inProject } from "#access/containers.ts";
import type { Db } from "#db/database.ts";
import type { Listing } from "#db/lists/list-page.ts";
import { auditedForOthers, endpoint } from "#http/endpoint.ts";
import { type Page, pageOf } from "#http/paging.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { presentSummary } from "#domains/identity/users/present.ts";
import { participantsOf } from "#domains/planning/items/participants.ts";
import { maySeeInternal } from "#domains/conversation/notes/visibility.ts";
import { withLabelDetails } from "#domains/planning/labels/views.ts";
import { changeMergeRequest, deleteMergeRequest } from "./actions.ts";
import { headsOf } from "./branches.ts";
import { ListedMergeRequest, SingleMergeRequest } from "./entity.ts";
import { GroupMergeRequestFilters, MergeRequestFilters, ProjectMergeRequestFilters } from "./filter-params.ts";
import { MERGE_REQUEST } from "./kind.ts";
import { listEverywhere, listOfGroup, listOfProject, PAGING } from "./list.ts";
import { createMergeRequest } from "./new-merge-request.ts";
import { MergeRequestChanges, MergeRequestId, NewMergeRequest } from "./params.ts";
import { type MergeRequestRow, mergeRequests as rowsOf, requireMergeRequest } from "./queries.ts";
import { MANAGER } from "./rights.ts";
import { mergeRequestView, mergeRequestViews, type MergeRequestViewer } from "./views.ts";

const feature = "merge_requests";
const reader = inProject("viewer", { feature });
const writer = inProject("viewer", { feature, signedIn: true, unlessArchived: true });
const MergeRequests = pageOf(ListedMergeRequest, { ...PAGING, type: "MergeRequest" });

export const mergeRequests = {
  list: endpoint({
    method: "GET",
    path: "/merge_requests",
    summary: "List merge requests: those that the caller created, or with `scope` others",
    access: signedIn(),
    params: MergeRequestFilters,
    returns: MergeRequests,
    handle: (request) => pageOfMergeRequests(request, listEverywhere(request.actor, request.params)),
  }),

  listOfGroup: endpoint({
    method: "GET",
    path: "/groups/:id/merge_requests",
    summary: "List the merge requests of a group and the groups below it",
    access: inGroup("viewer"),
    params: GroupMergeRequestFilters,
    returns: MergeRequests,
    handle: (request) => pageOfMergeRequests(request, listOfGroup(request.group, request.actor, request.params)),
  }),

  listOfProject: endpoint({
    method: "GET",
    path: "/projects/:id/merge_requests",
    summary: "List the merge requests of a project",
    access: reader,
    params: ProjectMergeRequestFilters,
    returns: MergeRequests,
    handle: (request) => pageOfMergeRequests(request, listOfProject(request.project, request.actor, request.params)),
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/merge_requests/:merge_request_iid",
    summary: "Get a merge request",
    access: reader,
    params: MergeRequestId,
    returns: SingleMergeRequest,
    handle: async ({ db, params, ...viewer }) =>
      mergeRequestView(db, await requireMergeRequest(db, viewer.project, params.merge_request_iid), viewer),
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/merge_requests",
    summary: "Open a merge request from one branch of a project to another",
    access: inProject(MANAGER, { feature: [feature, "repository"], unlessArchived: true }),
    params: NewMergeRequest,
    returns: SingleMergeRequest,
    audit: auditedForOthers("merge_request_created"),
    prepare: async ({ params: { source_branch, target_branch }, ...request }) => ({
      heads: await headsOf(request, { source_branch, target_branch }),
    }),
    async handle({ params, heads, ...write }) {
      const created = await createMergeRequest(write, params, heads.source_branch);
      write.audit(targetOf(created));
      return mergeRequestView(write.tx, created, write);
    },
  }),

  update: endpoint({
    method: "PUT",
    path: "/projects/:id/merge_requests/:merge_request_iid",
    summary: "Change a merge request; authors without the Developer role change its text and state",
    access: writer,
    params: MergeRequestChanges,
    returns: SingleMergeRequest,
    audit: auditedForOthers("merge_request_changed"),
    prepare: async ({ params: { target_branch }, ...request }) => {
      if (target_branch !== undefined) await headsOf(request, { target_branch });
      return {};
    },
    async handle({ params, ...write }) {
      const changed = await changeMergeRequest(write, params);
      write.audit(targetOf(changed));
      return mergeRequestView(write.tx, changed, write);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/projects/:id/merge_requests/:merge_request_iid",
    summary: "Delete a merge request",
    access: inProject("owner", { feature, unlessArchived: true }),
    params: MergeRequestId,
    audit: "merge_request_deleted",
    conditional: true,
    async handle({ tx, project, params, audit, unlessModified }) {
      const deleted = await deleteMergeRequest(tx, project, params.merge_request_iid);
      unlessModified(deleted.updated_at);
      audit(targetOf(deleted));
    },
  }),

  participants: endpoint({
    method: "GET",
    path: "/projects/:id/merge_requests/:merge_request_iid/participants",
    summary: "List the people who take part in a merge request: author, assignees, reviewers and who commented",
    access: reader,
    params: MergeRequestId,
    returns: pageOf(UserSummary, { id: "u.id" }),
    async handle({ db, project, actor, params, page, site }) {
      const { id } = await requireMergeRequest(db, project, params.merge_request_iid);
      const people = participantsOf(db, { kind: MERGE_REQUEST, id }, maySeeInternal(project, actor));
      return page(people, presentSummary(site));
    },
  }),
};

interface ListRequest extends MergeRequestViewer {
  readonly db: Db;
  readonly params: MergeRequestFilters;
  readonly page: Page<typeof MergeRequests>;
}

async function pageOfMergeRequests(request: ListRequest, listing: Listing) {
  const { db, page, params, ...viewer } = request;
  const views = await mergeRequestViews(db, await page.rows(rowsOf(db), listing), viewer);
  return withLabelDetails(db, MERGE_REQUEST, views, viewer, params.with_labels_details);
}

const targetOf = ({ id, iid, project_id }: MergeRequestRow) =>
  ({ type: "MergeRequest", id, name: `!${iid}`, entity: { type: "Project", id: project_id } }) as const;
