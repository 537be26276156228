import { inProject } from "#access/containers.ts";
import { itemResource } from "#domains/conversation/items/resource.ts";
import { SingleMergeRequest } from "./entity.ts";
import { MERGE_REQUEST } from "./kind.ts";
import { MergeRequestId } from "./params.ts";
import { requireMergeRequest } from "./queries.ts";
import { mergeRequestView } from "./views.ts";

const feature = "merge_requests";

export const MERGE_REQUESTS = itemResource({
  kind: MERGE_REQUEST,
  path: "/projects/:id/merge_requests/:merge_request_iid",
  params: MergeRequestId,
  one: "a merge request",
  availability: {},
  reader: inProject("viewer", { feature }),
  signedIn: inProject("viewer", { feature, signedIn: true }),
  writer: inProject("viewer", { feature, signedIn: true, unlessArchived: true }),
  async find(db, { project, actor }, { merge_request_iid }) {
    const { id, iid, discussion_locked } = await requireMergeRequest(db, project, merge_request_iid);
    const item = { kind: MERGE_REQUEST, id, iid, project_id: project.id, locked: discussion_locked === true };
    return { ...item, place: "project", container: project, actor };
  },
  single: SingleMergeRequest,
  show: async (db, { project, actor, site }, { merge_request_iid }) =>
    mergeRequestView(db, await requireMergeRequest(db, project, merge_request_iid), { actor, site, project }),
});
