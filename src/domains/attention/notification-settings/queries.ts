import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import type { NotificationLevel, NotificationSettings } from "./entity.ts";

/** A group or project, by the column that names it. */
export interface Container {
  readonly column: "group_id" | "project_id";
  readonly id: number;
}

/** What somebody set for everywhere; an address that is no longer confirmed does not count. */
export async function settingsOf(db: Db, userId: number): Promise<NotificationSettings> {
  const { rows } = await sql<NotificationSettings>`
    select coalesce(s.level, 'participating') as level, coalesce(e.email, u.email) as notification_email
    from users u
    left join notification_settings s on s.user_id = u.id and s.group_id is null and s.project_id is null
    left join emails e on e.id = s.email_id and e.user_id = u.id and e.confirmed_at is not null
    where u.id = ${userId}`.execute(db);
  return rows[0]!;
}

/** What somebody set for a group or project. */
export async function levelIn(db: Db, userId: number, { column, id }: Container): Promise<NotificationLevel> {
  const { rows } = await sql<NotificationLevel>`
    select level from notification_settings
    where user_id = ${userId} and ${sql.ref(column)} = ${id}`.execute(db);
  return rows[0] ?? { level: "global" };
}
