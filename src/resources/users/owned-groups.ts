import { sql } from "kysely";
import { live } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import { CLOSED_STATES } from "#access/user-kinds.ts";
import type { Tx } from "#db/database.ts";
import { conflict } from "#lib/refusal.ts";

const MOST_AT_ONCE = 1000;

/** Owners of `namespaces as n`, in it or above it, other than a user; a membership that ends does not count. */
const otherOwners = (userId: number) => sql`
  select from members o join users u on u.id = o.user_id
  where o.group_id = any(n.traversal_ids) and o.access_level = ${sql.lit(LEVELS.owner)} and o.expires_at is null
    and o.user_id <> ${userId}`;

const owned = (userId: number) => sql`
  m.user_id = ${userId} and m.group_id is not null and m.access_level = ${sql.lit(LEVELS.owner)}
    and ${sql.raw(live("m"))}`;

/**
 * Refuses that a user goes while a group has no other Owner who could decide. The rows of the groups are held, as by
 * whoever takes an Owner away there, so that of two who go at once the second sees that the first is gone.
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

/** Some of the groups that nobody owns beside a user, not even somebody who is blocked. */
export async function soleGroups(tx: Tx, userId: number): Promise<{ id: number; traversal_ids: number[] }[]> {
  const { rows } = await sql<{ id: number; traversal_ids: number[] }>`
    select n.id, n.traversal_ids from members m join namespaces n on n.id = m.group_id
    where ${owned(userId)} and not exists (${otherOwners(userId)})
    order by n.traversal_ids limit ${sql.lit(MOST_AT_ONCE)}`.execute(tx);
  return rows;
}
