import { sql } from "kysely";
import { live } from "#access/levels.ts";
import type { Tx } from "#db/database.ts";
import { conflict, missing } from "#lib/refusal.ts";
import type { Kind } from "./queries.ts";

/** Up to which level, and maybe until which day, members of a group come in. */
export interface Terms {
  readonly group_access: number;
  readonly expires_at?: string | null | undefined;
}

export interface NewShareRow {
  readonly id: number;
  readonly with_group_id: number;
  readonly access_level: number;
  readonly expires_at: string | null;
}

/** Opens a group or project to the members of another group. */
export async function addShare(
  tx: Tx,
  kind: Kind,
  id: number,
  withGroupId: number,
  { group_access: level, expires_at = null }: Terms,
): Promise<NewShareRow> {
  const shared = sql.ref(`${kind}_id`);
  // A share that has ended is as if it were not there.
  const { rows } = await sql<NewShareRow>`
    insert into shares (${shared}, with_group_id, access_level, expires_at)
    values (${id}, ${withGroupId}, ${level}, ${expires_at})
    on conflict (${shared}, with_group_id) where ${shared} is not null do update
      set access_level = excluded.access_level, expires_at = excluded.expires_at, created_at = excluded.created_at
      where not ${sql.raw(live("shares"))}
    returning id, with_group_id, access_level, expires_at`.execute(tx);
  const [share] = rows;
  if (!share) throw conflict(`The ${kind} is already shared with this group`);
  return share;
}

export async function removeShare(tx: Tx, kind: Kind, id: number, withGroupId: number) {
  const { numDeletedRows } = await tx
    .deleteFrom("shares")
    .where(`${kind}_id`, "=", id)
    .where("with_group_id", "=", withGroupId)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw missing("Group Link");
}
