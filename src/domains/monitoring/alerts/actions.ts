import { sql } from "kysely";
import type { Static } from "typebox";
import type { ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Tx } from "#db/database.ts";
import { assign } from "./assignees.ts";
import type { AlertChanges } from "./params.ts";
import { type AlertRow, lockAlert, requireAlert } from "./queries.ts";
import { type Change, recordChanges } from "./timeline.ts";
import { type AlertStatus, numberOfStatus } from "./words.ts";

interface AlertWrite {
  readonly tx: Tx;
  readonly actor: Actor;
  readonly project: ProjectSeen;
}

/** Changes the status and the assignee of an alert. If nothing is different afterwards, nothing is recorded. */
export async function changeAlert(
  { tx, actor, project }: AlertWrite,
  { alert_iid, status, assignee_ids }: Static<typeof AlertChanges>,
): Promise<AlertRow> {
  const alert = await lockAlert(tx, project.id, alert_iid);
  const changes = [
    ...(assignee_ids === undefined ? [] : await assign(tx, alert, assignee_ids?.[0] ?? null)),
    ...(status === undefined ? [] : await setStatus(tx, alert, status)),
  ];
  if (changes.length === 0) return alert;
  await recordChanges(tx, alert.id, actor.user.id, changes);
  await tx
    .updateTable("alerts")
    .set({ updated_at: sql<string>`now()` })
    .where("id", "=", alert.id)
    .execute();
  return requireAlert(tx, project.id, alert_iid);
}

/** Only a resolved alert has ended. */
async function setStatus(tx: Tx, { id, status: from_status }: AlertRow, status: AlertStatus): Promise<Change[]> {
  const to_status = numberOfStatus(status);
  if (to_status === from_status) return [];
  await tx
    .updateTable("alerts")
    .set({ status: to_status, ended_at: status === "resolved" ? sql<string>`now()` : null })
    .where("id", "=", id)
    .execute();
  return [{ action: "status_changed", from_status, to_status }];
}
