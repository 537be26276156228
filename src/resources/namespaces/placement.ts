import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { archivedAbove } from "#access/containers.ts";
import { VISIBILITIES, visibilityName } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import type { InstanceSettings } from "#db/settings.ts";
import { type Problems, refuse } from "#lib/problems.ts";
import { forbidden } from "#lib/refusal.ts";

/** A namespace that something is to be put into. */
export interface Place {
  readonly id: number;
  readonly kind: "user" | "group";
  readonly visibility: number;
  readonly traversal_ids: readonly number[];
  readonly project_creation_level: string;
  readonly subgroup_creation_level: string;
  /** Whether it, or a group that it is in, was put away. */
  readonly archived: boolean;
  /** Whether it, or a group that it is in, is going to be removed. */
  readonly marked: boolean;
}

/**
 * A namespace as it is and stays until the transaction ends: nobody makes it less visible or removes it while
 * something is put into it.
 */
export async function holdPlace(tx: Tx, id: number): Promise<Place | undefined> {
  const { rows } = await sql<Place>`
    select n.id, n.kind, n.visibility, n.traversal_ids, n.project_creation_level, n.subgroup_creation_level,
      ${sql.raw(archivedAbove)} as archived,
      exists (select from namespaces a where a.id = any(n.traversal_ids) and a.marked_for_deletion_at is not null) as marked
    from namespaces n where n.id = ${id} for share of n`.execute(tx);
  return rows[0];
}

/** Nothing new is put into what is only read or soon gone. */
export function refuseClosed({ archived, marked }: Pick<Place, "archived" | "marked">) {
  if (marked) throw forbidden("The group is marked for deletion");
  if (archived) throw forbidden("The group is archived");
}

/** A visibility that the instance allows the caller, and that is not above the one of the group around. */
export function checkVisibility(
  problems: Problems,
  wanted: number,
  place: Pick<Place, "kind" | "visibility"> | undefined,
  { actor, settings }: { readonly actor: Actor; readonly settings: InstanceSettings },
) {
  if (settings.restricted_visibility_levels.includes(wanted) && !isAdministrator(actor)) {
    refuse(problems, "visibility_level", `${visibilityName(wanted)} has been restricted by your administrator`);
  }
  if (place) checkVisibilityIn(problems, wanted, place);
}

/** Nothing is more visible than the group that it is in. */
export function checkVisibilityIn(problems: Problems, wanted: number, place: Pick<Place, "kind" | "visibility">) {
  if (place.kind !== "group" || wanted <= place.visibility) return;
  const above = visibilityName(place.visibility);
  const choices = place.visibility === VISIBILITIES.internal ? "internal or private" : above;
  refuse(
    problems,
    "visibility_level",
    `${visibilityName(wanted)} is not allowed since the parent group has ${above} visibility. ` +
      `Choose ${choices}, or change the parent group first.`,
  );
}
