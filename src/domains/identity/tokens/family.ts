import { sql } from "kysely";
import type { Origin } from "#access/access.ts";
import type { TokenRow } from "#access/principal.ts";
import type { Databases, Tx } from "#db/database.ts";
import { writeAudit } from "#http/audit.ts";
import { revocationTime } from "#domains/identity/credentials/actions.ts";

/** A token may still be shown this long after its rotation: a concurrent request does not mean that it was stolen. */
const LEEWAY_SECONDS = 10;

/** Revokes all successors of a revoked token that was used for a rotation, since it may have been stolen. */
export const revokeFamily = (db: Databases, row: TokenRow, origin: Origin): Promise<void> =>
  db.transaction(async (tx) => {
    const revoked: number[] = [];
    // A concurrent rotation may add a successor after a pass, so this ends after two passes that find none.
    for (let emptyPasses = 0; emptyPasses < 2;) {
      const successors = await revokeSuccessors(tx, row.token_id);
      revoked.push(...successors);
      emptyPasses = successors.length === 0 ? emptyPasses + 1 : 0;
    }
    if (revoked.length === 0) return;
    await writeAudit(tx, "personal_access_token_reused", { user: row }, origin, {
      type: "PersonalAccessToken",
      id: row.token_id,
      name: "",
      details: { revoked },
      entity: { type: "User", id: row.id },
    });
  });

async function revokeSuccessors(tx: Tx, id: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with recursive successors as (
      select s.id from personal_access_tokens t join personal_access_tokens s on s.previous_id = t.id
      where t.id = ${id} and t.revoked_at < now() - make_interval(secs => ${sql.lit(LEEWAY_SECONDS)})
      union
      select t.id from personal_access_tokens t join successors s on t.previous_id = s.id
    )
    update personal_access_tokens set revoked_at = ${revocationTime}
    where id in (select id from successors) and (revoked_at is null or revoked_at > now())
    returning id`.execute(tx);
  return rows.map((row) => row.id);
}
