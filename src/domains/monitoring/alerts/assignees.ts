import { sql } from "kysely";
import { levelInProject } from "#access/levels.ts";
import { LEVELS } from "#access/roles.ts";
import type { Tx } from "#db/database.ts";
import { badFields } from "#lib/refusal.ts";
import { readersInProject } from "#domains/planning/items/readers.ts";
import type { AlertRow } from "./queries.ts";
import type { Change } from "./timeline.ts";

const isDeveloper = sql`(u.admin or ${sql.raw(levelInProject("u.id"))} >= ${sql.lit(LEVELS.developer)})`;

/** Refuses a person who may not see the alerts of a project. One who does not exist is refused with the same text. */
async function requireReader(tx: Tx, projectId: number, userId: number) {
  const readers = await readersInProject(tx, projectId, "monitoring", [userId], isDeveloper);
  if (readers.length === 0) throw cannotBeAssigned();
}

export const cannotBeAssigned = () => badFields({ assignee_ids: ["must name someone who can see the alert"] });

/** Assigns an alert to a person, or to nobody, and returns what changed. */
export async function assign(tx: Tx, alert: AlertRow, userId: number | null): Promise<Change[]> {
  const { id: alert_id, assignee_id: current } = alert;
  if (userId === current) return [];
  if (userId === null) {
    await tx.deleteFrom("alert_assignees").where("alert_id", "=", alert_id).execute();
  } else {
    await requireReader(tx, alert.project_id, userId);
    await tx
      .insertInto("alert_assignees")
      .values({ alert_id, user_id: userId })
      .onConflict((conflict) => conflict.column("alert_id").doUpdateSet({ user_id: userId }))
      .execute();
  }
  return [
    ...(current === null ? [] : [{ action: "unassigned" as const, assignee_id: current }]),
    ...(userId === null ? [] : [{ action: "assigned" as const, assignee_id: userId }]),
  ];
}
