import { hasRole, type ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { needsRole } from "#access/roles.ts";
import type { ItemWrite } from "#domains/conversation/items/item.ts";
import type { MergeRequestRow } from "./queries.ts";

/** The part of the context that every write on merge requests needs. */
export interface MergeRequestWrite extends ItemWrite {
  readonly actor: Actor;
  readonly project: ProjectSeen;
}

/** The role that opens and manages the merge requests of a project. */
export const MANAGER = "developer";

/** What authors may change in their merge requests once they are no longer Developers. */
const BY_AUTHOR = ["id", "merge_request_iid", "title", "description", "state_event"];

/** The parameters of a change that count; the response names the others. Everybody else is refused. */
export function permittedChanges<P extends object>(
  { actor, project, ignored }: Pick<MergeRequestWrite, "actor" | "project" | "ignored">,
  { author_id }: Pick<MergeRequestRow, "author_id">,
  params: P,
): Partial<P> {
  if (hasRole(actor, project, MANAGER)) return params;
  if (author_id !== actor.user.id) throw needsRole(MANAGER, "project");
  const names = Object.keys(params);
  for (const name of names) if (!BY_AUTHOR.includes(name)) ignored(name);
  return Object.fromEntries(Object.entries(params).filter(([name]) => BY_AUTHOR.includes(name))) as Partial<P>;
}
