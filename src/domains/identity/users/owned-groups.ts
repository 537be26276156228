import { sql } from "kysely";
import { live } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import { CLOSED_STATES } from "#access/user-kinds.ts";
import type { Tx } from "#db/database.ts";
import { conflict } from "#lib/refusal.ts";

const BATCH_SIZE = 1000;

/** The Owners of `namespaces as n` or of a group above it, other than a user; a membership that will expire does not count. */
const otherOwners = (userId: number) => sql`
  select from members o join users u on u.id = o.user_id
  where o.group_id = any(n.traversal_ids) and o.access_level = ${sql.lit(LEVELS.owner)} and o.expires_at is null
    and o.user_id <> ${userId}`;

const owned = (userId: number) => sql`
  m.user_id = ${userId} and m.group_id is not null and m.access_level = ${sql.lit(LEVELS.owner)}
    and ${sql.raw(live("m"))}`;

/**
 * Refuses to delete a user who is the only Owner of a group. The groups are locked, as they are when an Owner is
 * removed, so that of two Owners who are deleted at the same time the second is refused.
 */
export async function refuseSoleOwner(tx: Tx, userId: number) {
  const { rows } = await sql<{ id: number }>`
    select n.id from members m join namespaces n on n.id = m.group_id
    where ${owned(userId)} order by n.id for no key update of n`.execute(tx);
  const { rows: alone } = await sql`
    select from namespaces n where n.id = any(${rows.map(({ id }) => id)}::bigint[])
      and not exists (${otherOwners(userId)} and u.state <> all(${CLOSED_STATES}::text[])) limit 1`.execute(tx);
  if (alone.length > 0) throw conflict("User cannot be removed while is the sole-owner of a group");
}

/** A batch of the groups that have no other Owner than a user, not even a blocked one. */
export async function solelyOwnedGroups(tx: Tx, userId: number): Promise<{ id: number; traversal_ids: number[] }[]> {
  const { rows } = await sql<{ id: number; traversal_ids: number[] }>`
    select n.id, n.traversal_ids from members m join namespaces n on n.id = m.group_id
    where ${owned(userId)} and not exists (${otherOwners(userId)})
    order by n.traversal_ids limit ${sql.lit(BATCH_SIZE)}`.execute(tx);
  return rows;
}
