import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";

export const SETTINGS = ["project_id", "active", "integrated"] as const;
export const CLIENT_KEY = ["id", "project_id", "active", "public_key", "created_at"] as const;

const settings = (db: Db) => db.selectFrom("error_tracking_settings").select(SETTINGS);

export type SettingsRow = Awaited<ReturnType<ReturnType<typeof settings>["executeTakeFirstOrThrow"]>>;

export async function settingsOf(db: Db, projectId: number): Promise<SettingsRow> {
  const row = await settings(db).where("project_id", "=", projectId).executeTakeFirst();
  if (!row) throw noSettings();
  return row;
}

export const noSettings = () => missing("Error Tracking Setting");

export const clientKeysOf = (db: Db, projectId: number) =>
  db.selectFrom("error_tracking_client_keys as k").select(CLIENT_KEY).where("k.project_id", "=", projectId);

export type ClientKeyRow = Awaited<ReturnType<ReturnType<typeof clientKeysOf>["executeTakeFirstOrThrow"]>>;
