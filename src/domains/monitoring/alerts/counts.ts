import { sql } from "kysely";
import Type, { type Static } from "typebox";
import type { Db } from "#db/database.ts";
import { MAX_TOTAL } from "#db/lists/list-page.ts";
import { ALERT_STATUSES, type AlertStatus, numberOfStatus } from "./words.ts";

const Count = Type.Integer({ minimum: 0, maximum: MAX_TOTAL });

/** How many alerts of a project there are in each status; each count stops at 10,000. */
export const AlertStatusCounts = Type.Object(
  { triggered: Count, acknowledged: Count, resolved: Count, ignored: Count, open: Count, all: Count },
  { additionalProperties: false, title: "AlertStatusCounts" },
);

export async function statusCounts(db: Db, projectId: number): Promise<Static<typeof AlertStatusCounts>> {
  const { rows } = await sql<{ count: number }>`
    select (
      select count(*) from (
        select from alerts a where a.project_id = ${projectId} and a.status = statuses.status
        limit ${sql.lit(MAX_TOTAL)}) alerts_in
    ) as count
    from unnest(${ALERT_STATUSES.map(numberOfStatus)}::smallint[]) with ordinality as statuses (status, place)
    order by statuses.place`.execute(db);
  const sum = (...statuses: readonly AlertStatus[]) =>
    Math.min(
      MAX_TOTAL,
      statuses.reduce((total, status) => total + (rows[numberOfStatus(status)]?.count ?? 0), 0),
    );
  return {
    triggered: sum("triggered"),
    acknowledged: sum("acknowledged"),
    resolved: sum("resolved"),
    ignored: sum("ignored"),
    open: sum("triggered", "acknowledged"),
    all: sum(...ALERT_STATUSES),
  };
}
