import { sql } from "kysely";
import type { Static } from "typebox";
import type { Actor } from "#access/principal.ts";
import type { ProjectSeen } from "#access/containers.ts";
import type { Tx } from "#db/database.ts";
import { unprocessable } from "#lib/refusal.ts";
import { recordEvent } from "#domains/foundation/events/record.ts";
import { applyLabels } from "#domains/planning/labels/of-items.ts";
import { ofProject } from "#domains/planning/items/containers.ts";
import { newMentions } from "#domains/attention/notifications/mentions.ts";
import { notify } from "#domains/attention/notifications/notify.ts";
import { refuseDeletion } from "#domains/planning/items/rights.ts";
import { stateColumns, statesReached } from "#domains/planning/items/states.ts";
import { assigneesChanged, changesOf, recordChanges } from "#domains/planning/items/system-notes.ts";
import { completeAssignments, updateTodos } from "#domains/attention/todos/of-items.ts";
import {
  type ChangedAssignees,
  namedAssignees,
  possibleAssignees,
  recordPeople,
  setPeople,
} from "#domains/planning/items/assignees.ts";
import { namedMilestone } from "#domains/planning/milestones/of-items.ts";
import { ISSUE } from "./kind.ts";
import type { IssueChanges } from "./params.ts";
import { type IssueRow, issues, lockIssue } from "./queries.ts";
import { readersOfIssue } from "./readers.ts";
import { type IssueWrite, permittedChanges } from "./rights.ts";
import { taskColumns } from "#domains/planning/items/tasks.ts";

type Changes = Partial<Static<typeof IssueChanges>>;

/** Changes an issue. Its time of change stays the same if nothing is different afterwards. */
export async function changeIssue(write: IssueWrite, params: Static<typeof IssueChanges>): Promise<IssueRow> {
  const { tx, project, actor } = write;
  const issue = await lockIssue(tx, project, actor, params.issue_iid);
  const { milestone_id, ...changes } = permittedChanges(write, issue, params);
  const milestone = await namedMilestone(write, milestone_id);
  const columns = {
    ...changedColumns(issue, { ...changes, ...(milestone !== undefined && { milestone_id: milestone?.id ?? null }) }),
    ...stateColumns(issue, actor, changes.state_event),
  };
  if (changes.confidential === false && issue.confidential) await refuseInConfidentialEpic(tx, issue.id);
  const item = { kind: ISSUE, id: issue.id } as const;
  const isRelabelled = await relabel(write, issue.id, changes);
  const { added, removed } = await reassign(tx, issue, changes);
  const isReassigned = added.length > 0 || removed.length > 0;
  if (isReassigned) await recordPeople(tx, item, actor.user.id, { added, removed }, assigneesChanged);
  if (Object.keys(columns).length === 0 && !isRelabelled && !isReassigned) return issue;
  await tx
    .updateTable("issues")
    .set({ ...columns, updated_at: sql`now()` })
    .where("id", "=", issue.id)
    .execute();
  await recordChanges(tx, item, actor.user.id, changesOf(ISSUE, issue, columns));
  const changed = await issues(tx).where("i.id", "=", issue.id).executeTakeFirstOrThrow();
  const mentions = newMentions(changes.description ?? null, issue.description);
  const mentioned = await readersOfIssue(tx, changed, mentions);
  await completeAssignments(tx, item, removed);
  await updateTodos(tx, item, actor.user.id, { assigned: added, mentioned });
  const reached = statesReached(columns);
  const target = { type: "Issue", id: issue.id } as const;
  for (const state of reached) await recordEvent(tx, actor.user.id, state, { project_id: project.id }, target);
  const what = [...reached, ...(isReassigned ? (["reassigned"] as const) : [])];
  await notify(write.services, tx, item, actor.user.id, what, { assigned: added, unassigned: removed, mentioned });
  return changed;
}

const COLUMNS = [
  ...(["title", "description", "confidential", "discussion_locked", "issue_type"] as const),
  ...(["weight", "start_date", "due_date", "milestone_id"] as const),
];

/** The columns whose values differ from those of the issue. */
function changedColumns(issue: IssueRow, changes: Changes) {
  const changed = COLUMNS.filter((name) => changes[name] !== undefined && changes[name] !== issue[name]);
  return {
    ...Object.fromEntries(changed.map((name) => [name, changes[name]])),
    ...(changed.includes("description") && taskColumns(changes.description ?? null)),
  };
}

/**
 * A confidential epic has confidential issues only. It is locked, so that it does not become so meanwhile; the refusal
 * does not tell of it, since the caller may not see it.
 */
async function refuseInConfidentialEpic(tx: Tx, issueId: number) {
  const { rows } = await sql<{ confidential: boolean }>`
    select e.confidential from epic_issues t join epics e on e.id = t.epic_id
    where t.issue_id = ${issueId} for share of e`.execute(tx);
  if (rows[0]?.confidential) throw unprocessable("The issue must stay confidential");
}

async function reassign(tx: Tx, { id, project_id }: IssueRow, changes: Changes): Promise<ChangedAssignees> {
  const named = namedAssignees(changes);
  if (named === undefined) return { added: [], removed: [] };
  return setPeople(
    tx,
    "issue_assignees",
    { kind: ISSUE, id },
    await possibleAssignees(tx, project_id, "issues", named),
  );
}

const relabel = ({ tx, actor, project }: IssueWrite, id: number, changes: Changes): Promise<boolean> =>
  applyLabels(tx, actor.user.id, ofProject(project), { kind: ISSUE, id }, changes);

export async function deleteIssue(tx: Tx, project: ProjectSeen, actor: Actor, iid: number): Promise<IssueRow> {
  const issue = await lockIssue(tx, project, actor, iid);
  refuseDeletion(actor, project, "project");
  await tx.deleteFrom("issues").where("id", "=", issue.id).execute();
  return issue;
}
