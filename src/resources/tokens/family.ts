import { sql } from "kysely";
import type { Origin } from "#access/access.ts";
import type { CallerRow } from "#access/actor.ts";
import type { Databases, Tx } from "#db/database.ts";
import { writeAudit } from "#http/audit.ts";
import { atOnce } from "./actions.ts";

/** Seconds in which a token may be shown that was just rotated: others who ask at the same moment are no thieves. */
const LEEWAY = 10;

/** Ends every token that came from a revoked one: whoever rotates with it may have stolen it. */
export const endFamily = (db: Databases, row: CallerRow, origin: Origin): Promise<void> =>
  db.transaction(async (tx) => {
    const revoked: number[] = [];
    // A rotation under way may add a successor after the first look, so it is over when a look finds none.
    for (let quiet = 0; quiet < 2;) {
      const found = await revokeSuccessors(tx, row.token_id);
      revoked.push(...found);
      quiet = found.length === 0 ? quiet + 1 : 0;
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
      where t.id = ${id} and t.revoked_at < now() - make_interval(secs => ${sql.lit(LEEWAY)})
      union
      select t.id from personal_access_tokens t join successors s on t.previous_id = s.id
    )
    update personal_access_tokens set revoked_at = ${atOnce}
    where id in (select id from successors) and (revoked_at is null or revoked_at > now())
    returning id`.execute(tx);
  return rows.map((row) => row.id);
}
