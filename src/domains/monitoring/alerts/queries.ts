import { sql } from "kysely";
import type { Db, Tx } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";

/** Alerts with their assignees and the names of their integrations, without their payloads, as rows of `a`. */
export const alerts = (db: Db) =>
  db
    .selectFrom("alerts as a")
    .leftJoin("alert_integrations as g", "g.id", "a.integration_id")
    .leftJoin("alert_assignees as t", "t.alert_id", "a.id")
    .select(["a.id", "a.iid", "a.project_id", "a.title", "a.description", "a.service", "a.monitoring_tool", "a.hosts"])
    .select(["a.severity", "a.status", "a.started_at", "a.ended_at", "a.event_count", "a.environment_name"])
    .select(["a.runbook", "a.query", "a.created_at", "a.updated_at"])
    .select(["g.id as integration_id", "g.name as integration_name", "t.user_id as assignee_id"]);

export type AlertRow = Awaited<ReturnType<ReturnType<typeof alerts>["executeTakeFirstOrThrow"]>>;

// A number in a path may be larger than the column holds.
const isNamed = (projectId: number, iid: number) =>
  sql<boolean>`a.project_id = ${projectId} and a.iid = ${iid}::bigint`;

export async function requireAlert(db: Db, projectId: number, iid: number): Promise<AlertRow> {
  const alert = await alerts(db).where(isNamed(projectId, iid)).executeTakeFirst();
  if (!alert) throw new Refusal("missing", "Alert not found");
  return alert;
}

/** The same, locked against other changes. Its assignee is read once it is locked: the lock is of another table. */
export async function lockAlert(tx: Tx, projectId: number, iid: number): Promise<AlertRow> {
  await sql`select from alerts a where ${isNamed(projectId, iid)} for no key update`.execute(tx);
  return requireAlert(tx, projectId, iid);
}

/** What only the page of one alert shows. */
export const contentOf = (db: Db, id: number) =>
  db.selectFrom("alerts").select(["payload", "grouped_by"]).where("id", "=", id).executeTakeFirstOrThrow();
