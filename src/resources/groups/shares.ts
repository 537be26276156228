import { sql } from "kysely";
import type { GroupSeen } from "#access/containers.ts";
import type { Tx } from "#db/database.ts";
import { badRequest, forbidden } from "#lib/refusal.ts";
import { refusePastDay } from "#resources/members/actions.ts";
import { addShare, type Terms } from "#resources/shares/actions.ts";

/** Opens a group to the members of another, up to a level and maybe until a day. */
export async function shareGroup(tx: Tx, group: GroupSeen, other: GroupSeen, terms: Terms) {
  if (group.id === other.id) throw badRequest("A group cannot be shared with itself");
  await refusePastDay(tx, terms.expires_at);
  await refuseOutside(tx, group, other);
  await addShare(tx, "group", group.id, other.id, terms);
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
