import { sql } from "kysely";
import { type Actor, isAdministrator } from "#access/actor.ts";
import { live } from "#access/levels.ts";
import type { Tx } from "#db/database.ts";
import { conflict, forbidden, missing } from "#lib/refusal.ts";
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

/** What is shared, with the caller's own level in it. */
interface Shared {
  readonly id: number;
  readonly level: number;
}

/** Ends a share; nobody takes away more than they have themselves. */
export async function removeShare(tx: Tx, actor: Actor, kind: Kind, { id, level }: Shared, withGroupId: number) {
  const share = await tx
    .selectFrom("shares")
    .select(["id", "access_level"])
    .where(`${kind}_id`, "=", id)
    .where("with_group_id", "=", withGroupId)
    .forUpdate()
    .executeTakeFirst();
  if (!share) throw missing("Group Link");
  if (share.access_level > level && !isAdministrator(actor)) throw forbidden();
  await tx.deleteFrom("shares").where("id", "=", share.id).execute();
}
