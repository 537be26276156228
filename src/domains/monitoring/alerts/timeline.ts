import { type Insertable, sql } from "kysely";
import Type, { type Static } from "typebox";
import type { Db, Tx } from "#db/database.ts";
import type { Database } from "#db/types.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import type { UsersById } from "#domains/identity/users/summaries.ts";
import { ALERT_STATUSES, statusOf } from "./words.ts";

/** How many changes of an alert are shown; older ones stay in the database. */
const MAX_SHOWN = 100;

/** A change of an alert, by a person or by a recovery that a monitoring tool reported. */
export const AlertChange = Type.Object(
  {
    id: Type.Integer(),
    action: Type.Enum(["status_changed", "recovered", "assigned", "unassigned"]),
    user: Nullable(UserSummary),
    from_status: Nullable(Type.Enum([...ALERT_STATUSES])),
    to_status: Nullable(Type.Enum([...ALERT_STATUSES])),
    assignee: Nullable(UserSummary),
    created_at: Type.String({ format: "date-time" }),
  },
  { additionalProperties: false, title: "AlertChange" },
);

/** What changed, apart from the alert and who did it. */
export type Change = Omit<Insertable<Database["alert_changes"]>, "id" | "alert_id" | "user_id" | "created_at">;

export const recordChanges = (tx: Tx, alertId: number, userId: number, changes: readonly Change[]) =>
  tx
    .insertInto("alert_changes")
    .values(changes.map((change) => ({ ...change, alert_id: alertId, user_id: userId })))
    .execute();

/** The newest changes of an alert, the last one first. */
export const newestChanges = (db: Db, alertId: number) =>
  db
    .selectFrom("alert_changes")
    .select(["id", "action", "user_id", "from_status", "to_status", "assignee_id", "created_at"])
    .where("alert_id", "=", alertId)
    .orderBy("id", "desc")
    .limit(sql.lit(MAX_SHOWN))
    .execute();

export type ChangeRow = Awaited<ReturnType<typeof newestChanges>>[number];

export const presentChange =
  (users: UsersById) =>
  (row: ChangeRow): Static<typeof AlertChange> => ({
    id: row.id,
    action: row.action,
    user: users.get(row.user_id) ?? null,
    from_status: row.from_status === null ? null : statusOf(row.from_status),
    to_status: row.to_status === null ? null : statusOf(row.to_status),
    assignee: users.get(row.assignee_id) ?? null,
    created_at: row.created_at,
  });
