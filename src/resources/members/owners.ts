import { sql } from "kysely";
import { LEVELS } from "#access/roles.ts";
import { CLOSED_STATES } from "#access/user-kinds.ts";
import type { Tx } from "#db/database.ts";
import { forbidden } from "#lib/refusal.ts";
import type { Place } from "./access.ts";

/** Refuses that an Owner goes, or becomes less or only for a time, where nobody else would be left to decide. */
export async function keepAnOwner(tx: Tx, place: Place, userId: number) {
  if (place.kind === "group") await keepOwnerOfGroup(tx, place.id, userId);
  else if (place.namespace_kind === "user") await keepOwnerOfNamespace(tx, place.namespace_id, userId);
}

/**
 * Whoever takes an Owner away holds the group's row, so that of two who leave at once the second sees that the first
 * is gone. An Owner above is one here too; that one is kept by the same rule.
 */
async function keepOwnerOfGroup(tx: Tx, groupId: number, userId: number) {
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

async function keepOwnerOfNamespace(tx: Tx, namespaceId: number, userId: number) {
  const { rows } = await sql`
    select from users where id = ${userId} and namespace_id = ${namespaceId}`.execute(tx);
  if (rows.length > 0) throw forbidden("the owner of a personal project cannot leave, be removed or be lowered");
}
