import { sql } from "kysely";
import type { Static } from "typebox";
import { creationEvent, projectActivity } from "#domains/foundation/events/record.ts";
import type { Tx } from "#db/database.ts";
import { conflict, missing, unprocessable } from "#lib/refusal.ts";
import { namedAssignees, possibleAssignees } from "#domains/planning/items/assignees.ts";
import { takeIid } from "#domains/planning/items/iids.ts";
import { labelsByName } from "#domains/planning/labels/of-items.ts";
import { ofProject } from "#domains/planning/items/containers.ts";
import { mentionsIn } from "#domains/attention/notifications/mentions.ts";
import { notify } from "#domains/attention/notifications/notify.ts";
import { taskColumns } from "#domains/planning/items/tasks.ts";
import { updateTodos } from "#domains/attention/todos/of-items.ts";
import { namedMilestone } from "#domains/planning/milestones/of-items.ts";
import { MERGE_REQUEST } from "./kind.ts";
import type { NewMergeRequest } from "./params.ts";
import { type MergeRequestRow, mergeRequests } from "./queries.ts";
import { readersOfMergeRequest } from "./readers.ts";
import type { MergeRequestWrite } from "./rights.ts";

/** Opens a merge request for a source branch that is at a commit. */
export async function createMergeRequest(
  write: MergeRequestWrite,
  params: Static<typeof NewMergeRequest>,
  headId: string,
): Promise<MergeRequestRow> {
  const { tx, actor, project } = write;
  if (params.target_project_id && params.target_project_id !== project.id) throw missing("Project");
  refuseSameBranch(params.source_branch, params.target_branch);
  await refuseSecond(tx, project.id, params);
  const labels = await labelsByName(tx, ofProject(project), params.labels ?? [], true);
  const milestone = await namedMilestone(write, params.milestone_id);
  const possible = (ids: readonly number[]) => possibleAssignees(tx, project.id, "merge_requests", ids);
  const assigned = await possible(namedAssignees(params) ?? []);
  const reviewers = await possible(params.reviewer_ids ?? []);
  const id = await insertMergeRequest(write, params, {
    headId,
    milestoneId: milestone?.id ?? null,
    labelIds: labels.map((label) => label.id),
    assigned,
    reviewers,
  });
  const created = await mergeRequests(tx).where("mr.id", "=", id).executeTakeFirstOrThrow();
  const mentioned = await readersOfMergeRequest(tx, created, mentionsIn(params.description ?? null));
  const item = { kind: MERGE_REQUEST, id } as const;
  await updateTodos(tx, item, actor.user.id, { assigned, reviewing: reviewers, mentioned });
  const asked = [...new Set([...assigned, ...reviewers])];
  await notify(write.services, tx, item, actor.user.id, ["created"], { assigned: asked, mentioned });
  return created;
}

export function refuseSameBranch(source: string, target: string) {
  if (source === target) throw unprocessable("The source and the target branch must be different");
}

/** Two requests at once are refused by a constraint, whose message cannot name the other merge request. */
async function refuseSecond(
  tx: Tx,
  projectId: number,
  { source_branch, target_branch }: Pick<Static<typeof NewMergeRequest>, "source_branch" | "target_branch">,
) {
  const other = await tx
    .selectFrom("merge_requests")
    .select("iid")
    .where("project_id", "=", projectId)
    .where("source_branch", "=", source_branch)
    .where("target_branch", "=", target_branch)
    .where("state", "=", "opened")
    .executeTakeFirst();
  if (other) throw conflict(`Another open merge request already exists for this source branch: !${other.iid}`);
}

interface Insertion {
  readonly headId: string;
  readonly milestoneId: number | null;
  readonly labelIds: readonly number[];
  readonly assigned: readonly number[];
  readonly reviewers: readonly number[];
}

async function insertMergeRequest(
  { tx, actor: { user }, project }: MergeRequestWrite,
  given: Static<typeof NewMergeRequest>,
  { headId, milestoneId, labelIds, assigned, reviewers }: Insertion,
): Promise<number> {
  const { task_count, completed_task_count } = taskColumns(given.description ?? null);
  const place = { project_id: project.id };
  const { rows } = await sql<{ id: number }>`
    with counter as (${takeIid("merge request", project.id)}), merge_request as (
      insert into merge_requests (project_id, iid, author_id, title, description, task_count, completed_task_count,
        source_branch, target_branch, head_commit_id, milestone_id, squash, remove_source_branch, discussion_locked)
      select ${project.id}, iid, ${user.id}, ${given.title}, ${given.description ?? null}, ${task_count},
        ${completed_task_count}, ${given.source_branch}, ${given.target_branch}, ${headId}, ${milestoneId},
        ${given.squash ?? false}, ${given.remove_source_branch ?? null}, ${given.discussion_locked ?? null}
      from counter returning id
    ), assigned as (
      insert into merge_request_assignees (merge_request_id, user_id)
      select id, unnest(${assigned}::bigint[]) from merge_request
    ), reviewing as (
      insert into merge_request_reviewers (merge_request_id, user_id)
      select id, unnest(${reviewers}::bigint[]) from merge_request
    ), linked as (
      insert into label_links (merge_request_id, label_id) select id, unnest(${labelIds}::bigint[]) from merge_request
    ), recorded as (
      insert into label_events (merge_request_id, user_id, label_id, action)
      select id, ${user.id}, unnest(${labelIds}::bigint[]), 'add' from merge_request
    ), happened as (${creationEvent(user.id, place, "MergeRequest", sql`select id from merge_request`)}
    ), active as (${projectActivity(project.id)})
    select id from merge_request`.execute(tx);
  return rows[0]!.id;
}
