import { inProject } from "#access/containers.ts";
import { ofProject } from "#domains/planning/items/labels.ts";
import { noteable } from "#domains/planning/notes/noteables.ts";
import { MergeRequestId } from "./params.ts";
import { requireMergeRequest } from "./queries.ts";

const feature = "merge_requests";

/** What belongs to merge requests as it belongs to issues: notes, discussions, emoji, label events. */
export const MERGE_REQUESTS = noteable({
  path: "/projects/:id/merge_requests/:merge_request_iid",
  params: MergeRequestId,
  one: "a merge request",
  availability: {},
  reader: inProject("viewer", { feature }),
  signedIn: inProject("viewer", { feature, signedIn: true }),
  writer: inProject("viewer", { feature, signedIn: true, unlessArchived: true }),
  async find(db, { project, actor }, { merge_request_iid }) {
    const { id, iid, discussion_locked } = await requireMergeRequest(db, project, merge_request_iid);
    return {
      ...{ column: "merge_request_id", id, iid, project_id: project.id, locked: discussion_locked === true },
      ...{ place: "project", container: project, labels: ofProject(project), actor },
    } as const;
  },
});
