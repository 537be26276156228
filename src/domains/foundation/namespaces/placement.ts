import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { archivedAbove } from "#access/containers.ts";
import { VISIBILITIES, visibilityName } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import type { InstanceSettings } from "#db/settings.ts";
import { type Problems, refuse } from "#lib/problems.ts";
import { forbidden } from "#lib/refusal.ts";

/** A namespace that a group or project is created in or moved to. */
export interface TargetNamespace {
  readonly id: number;
  readonly kind: "user" | "group";
  readonly visibility: number;
  readonly traversal_ids: readonly number[];
  readonly project_creation_level: string;
  readonly subgroup_creation_level: string;
  /** Whether it or a group above is archived. */
  readonly archived: boolean;
  /** Whether it or a group above is marked for deletion. */
  readonly marked: boolean;
}

/** Locks a namespace, so that it is neither made less visible nor deleted while something is put into it. */
export async function lockNamespace(tx: Tx, id: number): Promise<TargetNamespace | undefined> {
  const { rows } = await sql<TargetNamespace>`
    select n.id, n.kind, n.visibility, n.traversal_ids, n.project_creation_level, n.subgroup_creation_level,
      ${sql.raw(archivedAbove)} as archived,
      exists (select from namespaces a where a.id = any(n.traversal_ids) and a.marked_for_deletion_at is not null) as marked
    from namespaces n where n.id = ${id} for share of n`.execute(tx);
  return rows[0];
}

/** Refuses to put anything into a group that is archived or marked for deletion. */
export function refuseClosed({ archived, marked }: Pick<TargetNamespace, "archived" | "marked">) {
  if (marked) throw forbidden("The group is marked for deletion");
  if (archived) throw forbidden("The group is archived");
}

/** Checks that the instance allows the caller this visibility and that it does not exceed the parent group's. */
export function checkVisibility(
  problems: Problems,
  visibility: number,
  namespace: Pick<TargetNamespace, "kind" | "visibility"> | undefined,
  { actor, settings }: { readonly actor: Actor; readonly settings: InstanceSettings },
) {
  if (settings.restricted_visibility_levels.includes(visibility) && !isAdministrator(actor)) {
    refuse(problems, "visibility_level", `${visibilityName(visibility)} has been restricted by your administrator`);
  }
  if (namespace) checkVisibilityIn(problems, visibility, namespace);
}

/** Checks that nothing is more visible than the group that it is in. */
export function checkVisibilityIn(
  problems: Problems,
  visibility: number,
  namespace: Pick<TargetNamespace, "kind" | "visibility">,
) {
  if (namespace.kind !== "group" || visibility <= namespace.visibility) return;
  const above = visibilityName(namespace.visibility);
  const choices = namespace.visibility === VISIBILITIES.internal ? "internal or private" : above;
  refuse(
    problems,
    "visibility_level",
    `${visibilityName(visibility)} is not allowed since the parent group has ${above} visibility. ` +
      `Choose ${choices}, or change the parent group first.`,
  );
}
