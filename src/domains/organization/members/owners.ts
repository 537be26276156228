import { sql } from "kysely";
import { LEVELS } from "#access/roles.ts";
import { CLOSED_STATES } from "#access/user-kinds.ts";
import type { Tx } from "#db/database.ts";
import { forbidden } from "#lib/refusal.ts";
import type { MemberContainer } from "./access.ts";

/** Refuses to remove, demote or time-limit the last Owner. */
export async function requireAnotherOwner(tx: Tx, container: MemberContainer, userId: number) {
  if (container.kind === "group") await requireAnotherOwnerOfGroup(tx, container.id, userId);
  else if (container.namespace_kind === "user") await refuseNamespaceUser(tx, container.namespace_id, userId);
}

/**
 * The lock on the group's row serializes removals, so that of two Owners leaving at once the second sees that the first
 * has left. Owners of groups above count too; the same rule keeps those.
 */
async function requireAnotherOwnerOfGroup(tx: Tx, groupId: number, userId: number) {
  const { rows } = await sql<{ traversal_ids: number[] }>`
    select traversal_ids from namespaces where id = ${groupId} for no key update`.execute(tx);
  const { rows: others } = await sql`
    select from members m join users u on u.id = m.user_id
    where m.group_id = any(${rows[0]?.traversal_ids ?? []}::bigint[]) and m.access_level = ${sql.lit(LEVELS.owner)}
      and m.expires_at is null and u.state <> all(${CLOSED_STATES}::text[])
      and not (m.group_id = ${groupId} and m.user_id = ${userId})
    limit 1`.execute(tx);
  if (others.length > 0) return;
  throw forbidden(
    "the last Owner cannot leave, be removed or be lowered; " +
      "make another active member an Owner without an expiry date first",
  );
}

async function refuseNamespaceUser(tx: Tx, namespaceId: number, userId: number) {
  const { rows } = await sql`
    select from users where id = ${userId} and namespace_id = ${namespaceId}`.execute(tx);
  if (rows.length > 0) throw forbidden("the owner of a personal project cannot leave, be removed or be lowered");
}
