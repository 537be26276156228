import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { usersById } from "#domains/identity/users/summaries.ts";
import type { Answer } from "#domains/conversation/items/answer.ts";
import { itemCounts } from "#domains/planning/items/counts.ts";
import { withDescriptions } from "#domains/conversation/items/descriptions.ts";
import { pathsOf } from "#domains/planning/issues/views.ts";
import { labelNamesOf } from "#domains/planning/labels/views.ts";
import { milestonesOf } from "#domains/planning/milestones/of-items.ts";
import type { MergeRequest, SingleMergeRequest } from "./entity.ts";
import { MERGE_REQUEST } from "./kind.ts";
import { presentMergeRequest } from "./present.ts";
import type { MergeRequestRow } from "./queries.ts";

/** The caller, and the container that the request names: references are relative to it. */
export interface MergeRequestViewer extends Answer {
  readonly actor: Actor | null;
  readonly site: string;
  readonly project?: { readonly id: number };
  readonly group?: { readonly id: number };
}

/** Presents merge requests in the order of the rows with a constant number of statements. */
export async function mergeRequestViews(
  db: Db,
  rows: readonly MergeRequestRow[],
  viewer: MergeRequestViewer,
): Promise<MergeRequest[]> {
  return (await viewsOf(db, rows, viewer, false)).map(({ view }) => view);
}

export async function mergeRequestView(
  db: Db,
  row: MergeRequestRow,
  viewer: MergeRequestViewer,
): Promise<SingleMergeRequest> {
  const [only] = await viewsOf(db, [row], viewer, true);
  const { view, subscribed } = only!;
  return {
    ...view,
    subscribed,
    ...{ changes_count: null, pipeline: null, head_pipeline: null, diff_refs: null, merge_error: null },
  };
}

async function viewsOf(
  db: Db,
  rows: readonly MergeRequestRow[],
  viewer: MergeRequestViewer,
  withSubscription: boolean,
) {
  if (rows.length === 0) return [];
  const { site, actor, project, group } = viewer;
  const ids = rows.map(({ id }) => id);
  const users = await peopleOf(db, rows, site);
  const projectIds = [...rows.map(({ project_id }) => project_id), ...(project ? [project.id] : [])];
  const paths = await pathsOf(db, [...new Set(projectIds)], group?.id);
  const from = (project ? paths.projects.get(project.id) : paths.group) ?? "";
  const labels = await labelNamesOf(db, MERGE_REQUEST, ids, viewer);
  const counts = await itemCounts(db, MERGE_REQUEST, ids, actor, withSubscription);
  const milestones = await milestonesOf(db, MERGE_REQUEST, rows, site);
  return (await withDescriptions(db, "merge_requests", rows, viewer)).map((row) => {
    const path = paths.projects.get(row.project_id) ?? "";
    const counted = counts(row.id);
    const around = { site, path, from, users, counts: counted, labels: labels(row.id) };
    const view = presentMergeRequest(row, { ...around, milestone: milestones.get(row.id) ?? null });
    return { view, subscribed: counted.subscribed };
  });
}

function peopleOf(db: Db, rows: readonly MergeRequestRow[], site: string) {
  const ids = rows.flatMap(({ author_id, closed_by_id, assignee_ids, reviewer_ids }) => [
    ...[author_id, closed_by_id],
    ...assignee_ids,
    ...reviewer_ids,
  ]);
  return usersById(db, ids, site);
}
