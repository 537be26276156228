import { sql } from "kysely";
import type { Static } from "typebox";
import { type ProjectSeen, requireUse, visibleProject } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import { badRequest, forbidden, missing } from "#lib/refusal.ts";
import { recordEvent } from "#domains/foundation/events/record.ts";
import { labelsByName } from "#domains/planning/labels/of-items.ts";
import { ofProject } from "#domains/planning/items/containers.ts";
import { copyComments } from "#domains/conversation/notes/create.ts";
import { referencesTo } from "#domains/planning/items/references.ts";
import { moveSubscriptions } from "#domains/attention/subscriptions/actions.ts";
import { recordChanges } from "#domains/planning/items/system-notes.ts";
import { moveTodos } from "#domains/attention/todos/of-items.ts";
import { possibleAssignees } from "#domains/planning/items/assignees.ts";
import { milestoneInTarget } from "#domains/planning/milestones/of-items.ts";
import { ISSUE } from "./kind.ts";
import { insertIssue } from "./new-issue.ts";
import type { IssueMove } from "./params.ts";
import { type IssueRow, issues, labelNamesOf, lockIssue, requireIssue } from "./queries.ts";
import { type IssueWrite, refuseUnlessManager } from "./rights.ts";
import { pathsOf } from "./views.ts";

/** The project to move an issue to; one that the caller may not see is answered like a missing one. */
export async function targetOfMove(
  db: Databases,
  actor: Actor,
  project: ProjectSeen,
  { issue_iid, to_project_id }: Static<typeof IssueMove>,
): Promise<ProjectSeen> {
  await requireIssue(db.write, project, actor, issue_iid);
  refuseUnlessManager({ actor, project });
  const target = await visibleProject(db, actor, to_project_id);
  if (!target) throw missing("Project");
  requireUse(actor, target, "issues");
  refuseUnlessManager({ actor, project: target });
  if (target.archived) throw forbidden("The project is archived");
  return target;
}

interface IssueMoveWrite extends IssueWrite {
  countContent(characters: number): void;
}

/**
 * Moves an issue to another project: a new issue there, and the old one is closed and refers to it. The new one has the
 * labels and the milestone that its project has by the same names, and copies of the comments. The issue is locked
 * before the counter of the target, as in every other write, so that no two wait for each other.
 */
export async function moveIssue(write: IssueMoveWrite, target: ProjectSeen, iid: number): Promise<IssueRow> {
  const { tx, project, actor } = write;
  const issue = await lockIssue(tx, project, actor, iid);
  if (issue.moved_to_id !== null) throw badRequest("Cannot move an issue that has already been moved");
  if (target.id === project.id) throw badRequest("Cannot move an issue to the project that it is in");
  const labels = await labelsByName(tx, ofProject(target), await labelNamesOf(tx, issue.id), false);
  const draft = {
    ...issue,
    project_id: target.id,
    assignee_ids: await possibleAssignees(tx, target.id, "issues", issue.assignee_ids),
    milestone_id: await milestoneInTarget(tx, issue, target),
  };
  const created = await insertIssue(tx, draft, {
    labelIds: labels.map((label) => label.id),
    userId: actor.user.id,
    also: sql`update issues old set state = 'closed', closed_at = coalesce(old.closed_at, now()),
        closed_by_id = coalesce(old.closed_by_id, ${actor.user.id}), updated_at = now(), moved_to_id = issue.id
      from issue where old.id = ${issue.id}`,
  });
  write.countContent(await copyComments(tx, issue.id, created.id));
  await moveTodos(tx, issue.id, created.id);
  await moveSubscriptions(tx, issue.id, created.id);
  await recordMove(write, { project, issue }, { project: target, issue: created });
  if (issue.state === "opened")
    await recordEvent(tx, actor.user.id, "closed", { project_id: project.id }, { type: "Issue", id: issue.id });
  return issues(tx).where("i.id", "=", created.id).executeTakeFirstOrThrow();
}

interface End {
  readonly project: ProjectSeen;
  readonly issue: Pick<IssueRow, "id" | "iid">;
}

/** Records on both issues where the other one is. */
async function recordMove({ tx, actor }: IssueWrite, from: End, to: End) {
  const { projects: paths } = await pathsOf(tx, [from.project.id, to.project.id]);
  const record = async (on: End, verb: string, { project, issue }: End) => {
    const body = `${verb} ${referencesTo(ISSUE, issue.iid, paths.get(project.id) ?? "", "").full}`;
    const [item, other] = [on.issue.id, issue.id].map((id) => ({ kind: ISSUE, id }) as const);
    await recordChanges(tx, item!, actor.user.id, [body], other);
  };
  await record(to, "moved from", from);
  await record(from, "moved to", to);
}
