import type { Actor } from "#access/actor.ts";
import { type GroupSeen, hasRole, visibleGroup } from "#access/containers.ts";
import type { Tx } from "#db/database.ts";
import { forbidden, missing } from "#lib/refusal.ts";
import { holdPlace, type Place, refuseClosed } from "#resources/namespaces/placement.ts";
import type { Services } from "#services.ts";

/** A group that a request names beside the one in its path; undefined only where it names none. */
export async function namedGroup(services: Services, actor: Actor, id: number): Promise<GroupSeen>;
export async function namedGroup(
  services: Services,
  actor: Actor,
  id: number | null | undefined,
): Promise<GroupSeen | undefined>;
export async function namedGroup({ db }: Services, actor: Actor, id: number | null | undefined) {
  if (id === undefined || id === null) return undefined;
  const group = await visibleGroup(db, actor, id);
  if (!group) throw missing("Group");
  return group;
}

/** Holds the group that another is to be put into, if the caller may put groups there; undefined is the top. */
export async function holdParent(tx: Tx, actor: Actor, parent: GroupSeen | undefined): Promise<Place | undefined> {
  if (!parent) {
    await refuseTopLevel(tx, actor);
    return undefined;
  }
  const place = await holdPlace(tx, parent.id);
  if (!place) throw missing("Group");
  if (!hasRole(actor, parent, place.subgroup_creation_level === "owner" ? "owner" : "maintainer")) throw forbidden();
  refuseClosed(place);
  return place;
}

async function refuseTopLevel(tx: Tx, { user }: Actor) {
  if (user.admin) return;
  const { can_create_group } = await tx
    .selectFrom("users")
    .select("can_create_group")
    .where("id", "=", user.id)
    .executeTakeFirstOrThrow();
  if (!can_create_group || user.external) throw forbidden();
}
