import type { Actor } from "#access/principal.ts";
import { needsRole } from "#access/roles.ts";
import { authenticateJob } from "#access/authenticate.ts";
import { type GroupSeen, hasRole, visibleGroup } from "#access/containers.ts";
import type { Tx } from "#db/database.ts";
import { forbidden, missing } from "#lib/refusal.ts";
import { lockNamespace, type TargetNamespace, refuseClosed } from "#domains/foundation/namespaces/placement.ts";
import type { Services } from "#services.ts";
import type { Move } from "./transfer.ts";

/** Finds a group named in the parameters; returns undefined only if none is named. */
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

/** Locks the parent of a new or moved group if the caller may create subgroups in it; undefined is the top level. */
export async function lockParent(
  tx: Tx,
  actor: Actor,
  parent: GroupSeen | undefined,
): Promise<TargetNamespace | undefined> {
  if (!parent) {
    await refuseTopLevel(tx, actor);
    return undefined;
  }
  const target = await lockNamespace(tx, parent.id);
  if (!target) throw missing("Group");
  const role = target.subgroup_creation_level === "owner" ? "owner" : "maintainer";
  if (!hasRole(actor, parent, role)) throw needsRole(role, "parent group");
  refuseClosed(target);
  return target;
}

/** Checks the requester's rights again, because the job may run long after the request. */
export async function reauthorizeTransfer(tx: Tx, services: Services, { id, parent_id, by_id }: Move) {
  const actor = await authenticateJob(services.db, by_id);
  const inTransaction = { ...services, db: { ...services.db, write: tx } };
  const group = await namedGroup(inTransaction, actor, id);
  if (!hasRole(actor, group, "owner")) throw needsRole("owner", "group");
  await lockParent(tx, actor, await namedGroup(inTransaction, actor, parent_id));
}

async function refuseTopLevel(tx: Tx, { user }: Actor) {
  if (user.admin) return;
  const { can_create_group } = await tx
    .selectFrom("users")
    .select("can_create_group")
    .where("id", "=", user.id)
    .executeTakeFirstOrThrow();
  if (!can_create_group || user.external) throw forbidden("Your account may not create groups at the top level");
}
