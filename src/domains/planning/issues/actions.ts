import { sql } from "kysely";
import type { Static } from "typebox";
import type { Actor } from "#access/principal.ts";
import type { ProjectSeen } from "#access/containers.ts";
import type { Tx } from "#db/database.ts";
import { applyLabels } from "#domains/planning/items/labels.ts";
import { namedAssignees, possibleAssignees, setAssignees } from "./assignees.ts";
import { labelsFrom } from "./new-issue.ts";
import type { IssueChanges } from "./params.ts";
import { type IssueRow, issues, lockIssue } from "./queries.ts";
import { type IssueWrite, permittedChanges, refuseDeletion } from "./rights.ts";

type Changes = Partial<Static<typeof IssueChanges>>;

/** Changes an issue. Its time of change stays the same if nothing is different afterwards. */
export async function changeIssue(write: IssueWrite, params: Static<typeof IssueChanges>): Promise<IssueRow> {
  const { tx, project, actor } = write;
  const issue = await lockIssue(tx, project, actor, params.issue_iid);
  const changes = permittedChanges(write, issue, params);
  const columns = { ...changedColumns(issue, changes), ...stateColumns(issue, actor, changes.state_event) };
  const isRelabelled = await relabel(write, issue.id, changes);
  const isReassigned = await reassign(tx, issue, changes);
  if (Object.keys(columns).length === 0 && !isRelabelled && !isReassigned) return issue;
  await tx
    .updateTable("issues")
    .set({ ...columns, updated_at: sql`now()` })
    .where("id", "=", issue.id)
    .execute();
  return issues(tx).where("i.id", "=", issue.id).executeTakeFirstOrThrow();
}

const COLUMNS = [
  ...(["title", "description", "confidential", "discussion_locked", "issue_type"] as const),
  ...(["weight", "start_date", "due_date"] as const),
];

/** The columns whose values differ from those of the issue. */
function changedColumns(issue: IssueRow, changes: Changes) {
  const changed = COLUMNS.filter((name) => changes[name] !== undefined && changes[name] !== issue[name]);
  return Object.fromEntries(changed.map((name) => [name, changes[name]]));
}

function stateColumns({ state }: IssueRow, actor: Actor, event: Changes["state_event"]) {
  if (event === "close" && state === "opened") {
    return { state: "closed", closed_at: sql<string>`now()`, closed_by_id: actor.user.id } as const;
  }
  if (event === "reopen" && state === "closed")
    return { state: "opened", closed_at: null, closed_by_id: null } as const;
  return {};
}

async function reassign(tx: Tx, { id, project_id }: IssueRow, changes: Changes): Promise<boolean> {
  const named = namedAssignees(changes);
  return named !== undefined && setAssignees(tx, id, await possibleAssignees(tx, project_id, named));
}

const relabel = ({ tx, actor, project }: IssueWrite, id: number, changes: Changes): Promise<boolean> =>
  applyLabels(tx, actor.user.id, labelsFrom(project), { column: "issue_id", id }, changes);

export async function deleteIssue(tx: Tx, project: ProjectSeen, actor: Actor, iid: number): Promise<IssueRow> {
  refuseDeletion(actor, project);
  const issue = await lockIssue(tx, project, actor, iid);
  await tx.deleteFrom("issues").where("id", "=", issue.id).execute();
  return issue;
}
