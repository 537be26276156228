import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";
import { type Bound, refuseMore } from "#domains/foundation/row-bounds.ts";
import { CLIENT_KEY, clientKeysOf, type ClientKeyRow, noSettings, SETTINGS, type SettingsRow } from "./queries.ts";

interface Settings {
  readonly active: boolean;
  readonly integrated: boolean;
}

/** Creates or replaces the settings of a project. */
export async function replaceSettings(tx: Tx, projectId: number, { active, integrated }: Settings) {
  const row = await tx
    .insertInto("error_tracking_settings")
    .values({ project_id: projectId, active, integrated })
    .onConflict((conflict) =>
      conflict.column("project_id").doUpdateSet({ active, integrated, updated_at: sql<string>`now()` }),
    )
    .returning(SETTINGS)
    .executeTakeFirstOrThrow();
  await ensureClientKey(tx, row);
  return row;
}

export async function changeSettings(
  tx: Tx,
  projectId: number,
  { active, integrated }: Pick<Settings, "active"> & Partial<Settings>,
): Promise<SettingsRow> {
  const row = await tx
    .updateTable("error_tracking_settings")
    .set({ active, ...(integrated !== undefined && { integrated }), updated_at: sql<string>`now()` })
    .where("project_id", "=", projectId)
    .returning(SETTINGS)
    .executeTakeFirst();
  if (!row) throw noSettings();
  await ensureClientKey(tx, row);
  return row;
}

/** Without an active key nobody could report anything; the lock on the settings makes concurrent requests create one. */
async function ensureClientKey(tx: Tx, { project_id, active }: SettingsRow) {
  if (!active) return;
  const key = await clientKeysOf(tx, project_id).where("k.active", "=", true).limit(1).executeTakeFirst();
  if (!key) await addClientKey(tx, project_id);
}

const KEYS_BOUND: Bound = {
  ...{ table: "error_tracking_client_keys", container: "projects", column: "project_id", max: 100 },
  message: "A project can have at most 100 client keys; remove those that nothing uses",
};

export async function addClientKey(tx: Tx, projectId: number): Promise<ClientKeyRow> {
  await refuseMore(tx, KEYS_BOUND, projectId);
  return tx
    .insertInto("error_tracking_client_keys")
    .values({ project_id: projectId, public_key: `flet_${randomBytes(16).toString("hex")}` })
    .returning(CLIENT_KEY)
    .executeTakeFirstOrThrow();
}

export async function removeClientKey(tx: Tx, projectId: number, id: number): Promise<ClientKeyRow> {
  const key = await tx
    .deleteFrom("error_tracking_client_keys")
    .where("id", "=", id)
    .where("project_id", "=", projectId)
    .returning(CLIENT_KEY)
    .executeTakeFirst();
  if (!key) throw new Refusal("missing", "404 Not found");
  return key;
}
