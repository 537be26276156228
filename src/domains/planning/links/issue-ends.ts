import { type ProjectSeen, mayUse, visibleProject } from "#access/containers.ts";
import { resolveProject } from "#access/paths.ts";
import type { Actor } from "#access/principal.ts";
import type { Databases, Tx } from "#db/database.ts";
import { forbidden, missing } from "#lib/refusal.ts";
import { type IssueRow, requireIssue } from "#domains/planning/issues/queries.ts";
import { mayUpdate } from "#domains/planning/issues/rights.ts";
import { noLink } from "./queries.ts";

/** An end of a link with its project, as the caller sees it. */
export interface IssueEnd {
  readonly issue: IssueRow;
  readonly project: ProjectSeen;
}

interface Caller {
  readonly tx: Tx;
  readonly actor: Actor;
  readonly services: { readonly db: Databases };
}

/** The issue that parameters name; whatever the caller may not see is answered like something that is missing. */
export async function namedIssue(
  { tx, actor, services: { db } }: Caller,
  idOrPath: number | string,
  iid: number,
): Promise<IssueEnd> {
  const { id } = await resolveProject(db, String(idOrPath));
  const project = await visibleProject(db, actor, id);
  if (!project) throw missing("Project");
  if (!mayUse(actor, project, "issues")) return noLink();
  return { project, issue: await requireIssue(tx, project, actor, iid) };
}

/** The project of an issue that the caller may see. */
export async function endOf({ actor, services: { db } }: Caller, issue: IssueRow): Promise<IssueEnd> {
  const project = await visibleProject(db, actor, issue.project_id);
  return project ? { project, issue } : noLink();
}

/** Refuses a caller who may not update both issues. */
export function requireUpdates(actor: Actor, ...ends: readonly IssueEnd[]) {
  for (const { issue, project } of ends) {
    if (!mayUpdate({ actor, project }, issue)) throw forbidden("Requires the right to update both issues");
    if (project.archived) throw forbidden("The project is archived");
  }
}
