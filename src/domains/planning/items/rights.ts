import { type Actor, isAdministrator } from "#access/principal.ts";
import { LEVELS } from "#access/roles.ts";
import { forbidden } from "#lib/refusal.ts";

/** Refuses those who may not delete an issue or epic. Planners may, unlike the roles between them and Owners. */
export function refuseDeletion(
  actor: Actor,
  { level }: { readonly level: number },
  container: "project" | "group",
): void {
  if (isAdministrator(actor) || level === LEVELS.planner || level >= LEVELS.owner) return;
  throw forbidden(`This takes the role Planner or Owner in the ${container}`);
}
