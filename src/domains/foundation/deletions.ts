import { type RawBuilder, sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { BATCH_ROWS } from "./deletions/batches.ts";
import type { Deletions } from "./deletions/deletions.ts";

/** Runs a statement on up to 5000 events. Partitions repeat each other's `ctid`, so the primary key names the rows. */
async function changeEvents(tx: Tx, statement: RawBuilder<unknown>, condition: RawBuilder<unknown>): Promise<number> {
  const { numAffectedRows = 0n } = await sql`${statement} where (created_at, id) in (
    select created_at, id from events where ${condition} limit ${sql.lit(BATCH_ROWS)})`.execute(tx);
  return Number(numAffectedRows);
}

const removeEvents = (tx: Tx, condition: RawBuilder<unknown>) => changeEvents(tx, sql`delete from events`, condition);

export const foundationDeletions: Deletions = {
  columns: {
    "namespaces.parent_id": "removed first",
    "routes.namespace_id": "cascade",
    "routes.project_id": "cascade",
    "routes.parent_id": "removed first",
    "mailed_links.user_id": "cascade",
    "events.author_id": "moved to the ghost user",
    "events.project_id": "removed first",
    "events.group_id": "removed first",
    // Nobody sees the event of a target that is gone.
    "events.target_id": "kept",
    "events.key_id": "kept",
  },
  ofUser: [
    (tx, { id, newOwnerId }) =>
      newOwnerId === null
        ? removeEvents(tx, sql`author_id = ${id}`)
        : changeEvents(tx, sql`update events set author_id = ${newOwnerId}`, sql`author_id = ${id}`),
  ],
  ofProjects: [(tx, ids) => removeEvents(tx, sql`project_id = any(${ids}::bigint[])`)],
  ofGroups: [(tx, ids) => removeEvents(tx, sql`group_id = any(${ids}::bigint[])`)],
};
