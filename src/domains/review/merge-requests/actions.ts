import { sql } from "kysely";
import type { Static } from "typebox";
import type { ProjectSeen } from "#access/containers.ts";
import type { Tx } from "#db/database.ts";
import { recordEvent } from "#domains/foundation/events/record.ts";
import {
  type ChangedAssignees,
  namedAssignees,
  possibleAssignees,
  recordPeople,
  setPeople,
} from "#domains/planning/items/assignees.ts";
import { applyLabels } from "#domains/planning/labels/of-items.ts";
import { ofProject } from "#domains/planning/items/containers.ts";
import { newMentions } from "#domains/attention/notifications/mentions.ts";
import type { Item, PeopleTable } from "#domains/conversation/items/item.ts";
import { notify } from "#domains/attention/notifications/notify.ts";
import { stateColumns, statesReached } from "#domains/planning/items/states.ts";
import { assigneesChanged, changesOf, recordChanges, reviewersChanged } from "#domains/planning/items/system-notes.ts";
import { taskColumns } from "#domains/planning/items/tasks.ts";
import { completeAssignments, updateTodos } from "#domains/attention/todos/of-items.ts";
import { namedMilestone } from "#domains/planning/milestones/of-items.ts";
import { MERGE_REQUEST } from "./kind.ts";
import { refuseSameBranch } from "./new-merge-request.ts";
import type { MergeRequestChanges } from "./params.ts";
import { type DescribedMergeRequest, lockMergeRequest, type MergeRequestRow, mergeRequests } from "./queries.ts";
import { readersOfMergeRequest } from "./readers.ts";
import { type MergeRequestWrite, permittedChanges } from "./rights.ts";

type Changes = Partial<Static<typeof MergeRequestChanges>>;

const NOBODY: ChangedAssignees = { added: [], removed: [] };

/** Changes a merge request. Its time of change stays the same if nothing is different afterwards. */
export async function changeMergeRequest(
  write: MergeRequestWrite,
  params: Static<typeof MergeRequestChanges>,
): Promise<MergeRequestRow> {
  const { tx, project, actor } = write;
  const before = await lockMergeRequest(tx, project, params.merge_request_iid);
  const changes = permittedChanges(write, before, params);
  const columns = await changedColumns(write, before, changes);
  const item = { kind: MERGE_REQUEST, id: before.id } as const;
  const isRelabelled = await applyLabels(tx, actor.user.id, ofProject(project), item, changes);
  const people = await changePeople(write, item, changes);
  const isReassigned = [people.assignees, people.reviewers].some(
    ({ added, removed }) => added.length + removed.length > 0,
  );
  if (Object.keys(columns).length === 0 && !isRelabelled && !isReassigned) return before;
  await tx
    .updateTable("merge_requests")
    .set({ ...columns, updated_at: sql`now()` })
    .where("id", "=", before.id)
    .execute();
  await recordChanges(tx, item, actor.user.id, changesOf(MERGE_REQUEST, before, columns));
  const changed = await mergeRequests(tx).where("mr.id", "=", before.id).executeTakeFirstOrThrow();
  await announceChanges(write, item, changed, {
    people,
    reached: statesReached(columns),
    mentions: newMentions(changes.description ?? null, before.description),
  });
  return changed;
}

const COLUMNS = [
  ...(["title", "description", "target_branch", "squash", "remove_source_branch", "discussion_locked"] as const),
  "milestone_id",
] as const;

/** The columns whose values differ from those of the merge request. */
async function changedColumns(write: MergeRequestWrite, before: DescribedMergeRequest, changes: Changes) {
  refuseSameBranch(before.source_branch, changes.target_branch ?? before.target_branch);
  const { milestone_id, ...others } = changes;
  const milestone = await namedMilestone(write, milestone_id);
  const given = { ...others, ...(milestone !== undefined && { milestone_id: milestone?.id ?? null }) };
  const changed = COLUMNS.filter((name) => given[name] !== undefined && given[name] !== before[name]);
  return {
    ...Object.fromEntries(changed.map((name) => [name, given[name]])),
    ...(changed.includes("description") && taskColumns(changes.description ?? null)),
    ...stateColumns(before, write.actor, changes.state_event),
  };
}

interface ChangedPeople {
  readonly assignees: ChangedAssignees;
  readonly reviewers: ChangedAssignees;
}

/** Replaces assignees and reviewers as far as a request names them, and records who came and went. */
async function changePeople({ tx, actor, project }: MergeRequestWrite, item: Item, changes: Changes) {
  const replace = async (
    table: PeopleTable,
    named: readonly number[] | null | undefined,
    say: typeof assigneesChanged,
  ): Promise<ChangedAssignees> => {
    if (named === undefined) return NOBODY;
    const ids = await possibleAssignees(tx, project.id, "merge_requests", named ?? []);
    const changed = await setPeople(tx, table, item, ids);
    if (changed.added.length + changed.removed.length > 0) await recordPeople(tx, item, actor.user.id, changed, say);
    return changed;
  };
  return {
    assignees: await replace("merge_request_assignees", namedAssignees(changes), assigneesChanged),
    reviewers: await replace("merge_request_reviewers", changes.reviewer_ids, reviewersChanged),
  } satisfies ChangedPeople;
}

interface Changed {
  readonly people: ChangedPeople;
  readonly reached: readonly ("closed" | "reopened")[];
  readonly mentions: readonly string[];
}

/** Records what happened as events, to-dos and mail. */
async function announceChanges(
  { tx, actor, project, services }: MergeRequestWrite,
  item: Item,
  changed: MergeRequestRow,
  { people: { assignees, reviewers }, reached, mentions }: Changed,
) {
  const target = { type: "MergeRequest", id: item.id } as const;
  for (const state of reached) await recordEvent(tx, actor.user.id, state, { project_id: project.id }, target);
  const mentioned = await readersOfMergeRequest(tx, changed, mentions);
  const assigned = [...new Set([...assignees.added, ...reviewers.added])];
  const unassigned = [...assignees.removed, ...reviewers.removed].filter(
    (id) => !changed.assignee_ids.includes(id) && !changed.reviewer_ids.includes(id),
  );
  await completeAssignments(tx, item, assignees.removed);
  await completeAssignments(tx, item, reviewers.removed, "review_requested");
  await updateTodos(tx, item, actor.user.id, { assigned: assignees.added, reviewing: reviewers.added, mentioned });
  const isReassigned = assignees.added.length + assignees.removed.length > 0;
  const what = [...reached, ...(isReassigned ? (["reassigned"] as const) : [])];
  await notify(services, tx, item, actor.user.id, what, { assigned, unassigned, mentioned });
}

export async function deleteMergeRequest(tx: Tx, project: ProjectSeen, iid: number): Promise<MergeRequestRow> {
  const found = await lockMergeRequest(tx, project, iid);
  await tx.deleteFrom("merge_requests").where("id", "=", found.id).execute();
  return found;
}
