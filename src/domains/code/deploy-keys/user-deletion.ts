import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { ghostUser } from "#domains/identity/users/ghost.ts";

const BATCH_KEYS = 1000;

/** Moves a batch of the deploy keys of a user to the ghost user, since projects rely on them; returns how many. */
export async function moveDeployKeysToGhost(tx: Tx, userId: number): Promise<number> {
  const added = sql`kind = 'deploy' and user_id = ${userId}`;
  const { rows } = await sql`select from keys where ${added} limit 1`.execute(tx);
  if (rows.length === 0) return 0;
  const ghostId = await ghostUser(tx);
  const { numAffectedRows = 0n } = await sql`
    with moved as (
      update keys set user_id = ${ghostId}
      where id = any(array(select id from keys where ${added} limit ${sql.lit(BATCH_KEYS)}))
      returning id, title, fingerprint_sha256)
    insert into audit_events (event, actor_name, target_type, target_id, target_name, details, request_id)
    select 'deploy_key_creator_removed', '', 'DeployKey', id, title,
      jsonb_build_object('fingerprint', fingerprint_sha256, 'creator_id', ${userId}::bigint), '' from moved`.execute(
    tx,
  );
  return Number(numAffectedRows);
}
