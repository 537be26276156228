import { hasRole, type ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { needsRole } from "#access/roles.ts";
import type { ItemWrite } from "#domains/conversation/items/item.ts";
import type { IssueRow } from "./queries.ts";
import type { IssueViewer } from "./views.ts";

/** The part of the context that every write on issues needs. */
export interface IssueWrite extends IssueViewer, ItemWrite {
  readonly actor: Actor;
  readonly project: ProjectSeen;
}

/** The role that manages the issues of a project: sees the confidential ones, labels, assigns and moves them. */
const MANAGER = "planner";

type Writer = Pick<IssueWrite, "actor" | "project">;
type Permission = Writer & Pick<IssueWrite, "ignored">;

const isManager = ({ actor, project }: Writer) => hasRole(actor, project, MANAGER);

/** Whether somebody who sees an issue may change it: those who manage, wrote or work on it. */
export const mayUpdate = (writer: Writer, { author_id, assignee_ids }: IssueRow): boolean =>
  isManager(writer) || author_id === writer.actor.user.id || assignee_ids.includes(writer.actor.user.id);

export function refuseUnlessManager(writer: Writer) {
  if (!isManager(writer)) throw needsRole(MANAGER, "project");
}

/** What people without that role may set in an issue that they create. */
const BY_ANYONE = ["title", "description", "confidential", "issue_type"];
/** What they may change in one that they wrote, or that is assigned to them. Only managers end confidentiality. */
const BY_AUTHOR = ["title", "description", "confidential", "issue_type", "state_event"];
const BY_ASSIGNEE = ["title", "description", "state_event"];
/** What takes an Owner, since it contradicts the order of events. */
const BY_OWNER = ["iid", "created_at"];

/** The parameters of a new issue that count; the response names the others. */
export const permittedInNew = <P extends object>(write: Permission, params: P): Partial<P> =>
  permitted(write, params, BY_ANYONE);

/** The parameters of a change that count. Those who neither manage nor wrote an issue, nor have it assigned, are refused. */
export function permittedChanges<P extends { readonly confidential?: boolean | undefined }>(
  write: IssueWrite,
  issue: IssueRow,
  params: P,
): Partial<P> {
  if (isManager(write)) return permitted(write, params, []);
  const { id } = write.actor.user;
  if (issue.author_id === id) {
    // Others may have said in comments what only members shall read.
    const reveals = issue.confidential && params.confidential === false;
    return permitted(write, params, reveals ? BY_AUTHOR.filter((name) => name !== "confidential") : BY_AUTHOR);
  }
  if (issue.assignee_ids.includes(id)) return permitted(write, params, BY_ASSIGNEE);
  throw needsRole(MANAGER, "project");
}

function permitted<P extends object>(write: Permission, params: P, byOthers: readonly string[]): Partial<P> {
  const isOwner = hasRole(write.actor, write.project, "owner");
  const isPermitted = (name: string) =>
    BY_OWNER.includes(name) ? isOwner : isManager(write) || byOthers.includes(name) || IN_PATH.includes(name);
  const names = Object.keys(params);
  for (const name of names) if (!isPermitted(name)) write.ignored(name);
  return Object.fromEntries(Object.entries(params).filter(([name]) => isPermitted(name))) as Partial<P>;
}

const IN_PATH = ["id", "issue_iid"];
