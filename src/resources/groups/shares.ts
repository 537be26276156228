import { sql } from "kysely";
import type { GroupSeen } from "#access/containers.ts";
import { live } from "#access/levels.ts";
import type { Tx } from "#db/database.ts";
import { badRequest, conflict, forbidden, missing } from "#lib/refusal.ts";
import { refusePastDay } from "#resources/members/actions.ts";

interface Terms {
  readonly group_access: number;
  readonly expires_at?: string | null;
}

/** Opens a group to the members of another, up to a level and maybe until a day. */
export async function shareGroup(tx: Tx, group: GroupSeen, other: GroupSeen, { group_access, expires_at }: Terms) {
  if (group.id === other.id) throw badRequest("A group cannot be shared with itself");
  await refusePastDay(tx, expires_at);
  await refuseOutside(tx, group, other);
  // A share that has ended is as if it were not there.
  const { rows } = await sql`
    insert into shares (group_id, with_group_id, access_level, expires_at)
    values (${group.id}, ${other.id}, ${group_access}, ${expires_at ?? null})
    on conflict (group_id, with_group_id) where group_id is not null do update
      set access_level = excluded.access_level, expires_at = excluded.expires_at, created_at = excluded.created_at
      where not ${sql.raw(live("shares"))}
    returning id`.execute(tx);
  if (rows.length === 0) throw conflict("The group is already shared with this group");
}

/** What a top-level group chose for its whole hierarchy. */
async function refuseOutside(tx: Tx, group: GroupSeen, other: GroupSeen) {
  const [root] = group.traversal_ids;
  if (root === undefined || root === other.traversal_ids[0]) return;
  const { rows } = await sql`
    select from namespaces
    where id = ${root} and preferences @> '{"prevent_sharing_groups_outside_hierarchy": true}'`.execute(tx);
  if (rows.length > 0) throw forbidden("This group is shared only within its hierarchy");
}

export async function unshareGroup(tx: Tx, groupId: number, otherId: number) {
  const { numDeletedRows } = await tx
    .deleteFrom("shares")
    .where("group_id", "=", groupId)
    .where("with_group_id", "=", otherId)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw missing("Group Link");
}
