import type { Somebody } from "#access/actor.ts";
import { authenticateJobUser } from "#access/authenticate.ts";
import { type GroupSeen, hasRole, visibleGroup } from "#access/containers.ts";
import type { Tx } from "#db/database.ts";
import { forbidden, missing } from "#lib/refusal.ts";
import { holdPlace, type Place, refuseClosed } from "#resources/namespaces/placement.ts";
import type { Services } from "#services.ts";
import type { Move } from "./transfer.ts";

/** A group that a request names beside the one in its path; undefined only where it names none. */
export async function namedGroup(services: Services, actor: Somebody, id: number): Promise<GroupSeen>;
export async function namedGroup(
  services: Services,
  actor: Somebody,
  id: number | null | undefined,
): Promise<GroupSeen | undefined>;
export async function namedGroup({ db }: Services, actor: Somebody, id: number | null | undefined) {
  if (id === undefined || id === null) return undefined;
  const group = await visibleGroup(db, actor, id);
  if (!group) throw missing("Group");
  return group;
}

/** Holds the group that another is to be put into, if the caller may put groups there; undefined is the top. */
export async function holdParent(tx: Tx, actor: Somebody, parent: GroupSeen | undefined): Promise<Place | undefined> {
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

/** Refuses a move by somebody who may not make it any more: a job may run long after it was asked for. */
export async function reauthorizeTransfer(tx: Tx, services: Services, { id, parent_id, by_id }: Move) {
  const actor = { user: await authenticateJobUser(services.db, by_id) };
  const group = await namedGroup(services, actor, id);
  if (!hasRole(actor, group, "owner")) throw forbidden();
  await holdParent(tx, actor, await namedGroup(services, actor, parent_id));
}

async function refuseTopLevel(tx: Tx, { user }: Somebody) {
  if (user.admin) return;
  const { can_create_group } = await tx
    .selectFrom("users")
    .select("can_create_group")
    .where("id", "=", user.id)
    .executeTakeFirstOrThrow();
  if (!can_create_group || user.external) throw forbidden();
}
