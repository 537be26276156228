import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/principal.ts";
import type { GroupSeen, ProjectSeen } from "#access/containers.ts";
import { live } from "#access/levels.ts";
import type { Tx } from "#db/database.ts";
import { badRequest, conflict, forbidden, missing } from "#lib/refusal.ts";
import { type Bound, refuseMore } from "#domains/foundation/row-bounds.ts";
import { refusePastDay } from "#domains/organization/members/actions.ts";
import type { Kind } from "./queries.ts";

/** The level that a share gives at most, and optionally its expiry date. */
interface ShareTerms {
  readonly group_access: number;
  readonly expires_at?: string | null | undefined;
}

export interface NewShareRow {
  readonly id: number;
  readonly with_group_id: number;
  readonly access_level: number;
  readonly expires_at: string | null;
}

/** Shares a project with a group, up to the caller's own level. */
export async function shareProject(
  tx: Tx,
  actor: Actor,
  project: ProjectSeen,
  group: GroupSeen,
  terms: ShareTerms,
): Promise<NewShareRow> {
  if (terms.group_access > project.level && !isAdministrator(actor))
    throw forbidden("A share cannot give more than your own role in the project");
  if (project.traversal_ids.includes(group.id)) throw conflict("The project is in this group already");
  await refusePastDay(tx, terms.expires_at);
  return addShare(tx, "project", project.id, group.id, terms);
}

/** Shares a group with another, up to a level and optionally until a date. */
export async function shareGroup(tx: Tx, group: GroupSeen, other: GroupSeen, terms: ShareTerms) {
  if (group.id === other.id) throw badRequest("A group cannot be shared with itself");
  await refusePastDay(tx, terms.expires_at);
  await refuseOutside(tx, group, other);
  await addShare(tx, "group", group.id, other.id, terms);
}

/** Refuses shares outside the hierarchy if the top-level group forbids them. */
async function refuseOutside(tx: Tx, group: GroupSeen, other: GroupSeen) {
  const [root] = group.traversal_ids;
  if (root === undefined || root === other.traversal_ids[0]) return;
  const { rows } = await sql`
    select from namespaces
    where id = ${root} and preferences @> '{"prevent_sharing_groups_outside_hierarchy": true}'`.execute(tx);
  if (rows.length > 0) throw forbidden("This group is shared only within its hierarchy");
}

async function addShare(
  tx: Tx,
  kind: Kind,
  id: number,
  withGroupId: number,
  { group_access: level, expires_at = null }: ShareTerms,
): Promise<NewShareRow> {
  const shared = sql.ref(`${kind}_id`);
  // Expired shares neither count nor stand in the way of a new one.
  await sql`delete from shares where ${shared} = ${id} and not ${sql.raw(live("shares"))}`.execute(tx);
  await refuseMore(tx, sharesBound(kind), id);
  const { rows } = await sql<NewShareRow>`
    insert into shares (${shared}, with_group_id, access_level, expires_at)
    values (${id}, ${withGroupId}, ${level}, ${expires_at})
    on conflict (${shared}, with_group_id) where ${shared} is not null do nothing
    returning id, with_group_id, access_level, expires_at`.execute(tx);
  const [share] = rows;
  if (!share) throw conflict(`The ${kind} is already shared with this group`);
  return share;
}

/** Everybody's level in a project or group is read with all of its shares, in a statement that others wait for. */
const sharesBound = (kind: Kind): Bound => ({
  ...{ table: "shares", column: `${kind}_id`, container: kind === "project" ? "projects" : "namespaces", max: 100 },
  message: `A ${kind} can be shared with at most 100 groups; invite a group above some of them`,
});

/** What is shared, with the caller's own level in it. */
interface Shared {
  readonly id: number;
  readonly level: number;
}

/** Removes a share and returns when it was created; refuses one with a level above the caller's own. */
export async function removeShare(
  tx: Tx,
  actor: Actor,
  kind: Kind,
  { id, level }: Shared,
  withGroupId: number,
): Promise<string> {
  const share = await tx
    .selectFrom("shares")
    .select(["id", "access_level", "created_at"])
    .where(`${kind}_id`, "=", id)
    .where("with_group_id", "=", withGroupId)
    .forUpdate()
    .executeTakeFirst();
  if (!share) throw missing("Group Link");
  if (share.access_level > level && !isAdministrator(actor))
    throw forbidden("This share gives more than your own role");
  await tx.deleteFrom("shares").where("id", "=", share.id).execute();
  return share.created_at;
}
