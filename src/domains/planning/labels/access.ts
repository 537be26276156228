import { hasRole, type ProjectSeen, visibleGroup } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { needsRole } from "#access/roles.ts";
import type { Databases } from "#db/database.ts";
import { badRequest, missing } from "#lib/refusal.ts";

/** Labels take this role to be created, changed and deleted. */
export const WRITES_LABELS = "planner";

/** Refuses a caller who may not create labels of the group that a project is in. */
export async function requireGroupLabels(db: Databases, actor: Actor, project: ProjectSeen) {
  if (project.namespace_kind !== "group") throw badRequest("The project is in no group");
  const group = await visibleGroup(db, actor, project.namespace_id);
  if (!group) throw missing("Group");
  if (!hasRole(actor, group, WRITES_LABELS)) throw needsRole(WRITES_LABELS, "group");
}
