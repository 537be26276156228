import { hasRole, type ProjectSeen, visibleGroup } from "#access/containers.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { LEVELS, needsRole } from "#access/roles.ts";
import type { Databases } from "#db/database.ts";
import { badRequest, forbidden, missing } from "#lib/refusal.ts";

/** Refuses those who may not delete an issue or epic. Planners may, unlike the roles between them and Owners. */
export function refuseDeletion(
  actor: Actor,
  { level }: { readonly level: number },
  container: "project" | "group",
): void {
  if (isAdministrator(actor) || level === LEVELS.planner || level >= LEVELS.owner) return;
  throw forbidden(`Requires the Planner or Owner role in the ${container}`);
}

/** Refuses a caller who may not create labels or milestones of the group that a project is in. */
export async function requirePlannerOfGroup(db: Databases, actor: Actor, project: ProjectSeen) {
  if (project.namespace_kind !== "group") throw badRequest("The project is in no group");
  const group = await visibleGroup(db, actor, project.namespace_id);
  if (!group) throw missing("Group");
  if (!hasRole(actor, group, "planner")) throw needsRole("planner", "group");
}
