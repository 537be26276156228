import { randomBytes } from "node:crypto";
import { sql } from "kysely";
import { tokenDigest } from "#access/authenticate.ts";
import type { Config } from "#config.ts";
import type { Tx } from "#db/database.ts";
import { isInPlan } from "#http/gates.ts";
import { newIntegrationKey } from "#lib/secrets.ts";
import { badFields } from "#lib/refusal.ts";
import { type Bound, refuseMore } from "#domains/foundation/row-bounds.ts";
import { checkedColumns, type IntegrationType } from "./check.ts";
import type { GivenIntegration } from "./params.ts";
import { type IntegrationRow, integrationsOf, lockIntegration, requireIntegration } from "./queries.ts";

interface IntegrationWrite {
  readonly tx: Tx;
  readonly services: { readonly config: Config };
}

/** An integration with a key that was just made, which nobody can read again. */
export interface WithKey {
  readonly row: IntegrationRow;
  /** Undefined for incident management, which receives nothing. */
  readonly key: string | undefined;
}

const BOUND: Bound = {
  ...{ table: "alert_integrations", container: "projects", column: "project_id", max: 50 },
  message: "A project can have at most 50 alert integrations; delete those that nothing uses",
};
const SEVERAL = { plan: "premium" } as const;

export async function addIntegration(
  { tx, services }: IntegrationWrite,
  projectId: number,
  { type, ...given }: GivenIntegration & { readonly name: string; readonly type: IntegrationType },
): Promise<WithKey> {
  const { active = true, ...columns } = checkedColumns(type, given);
  const isManagement = type === "incident_management";
  if (isManagement && given.external_url === undefined)
    throw badFields({ external_url: ["is required for the type incident_management"] });
  await refuseMore(tx, BOUND, projectId);
  if (!isInPlan(SEVERAL, services.config)) await refuseSecond(tx, projectId);
  if (active) await refuseBeside(tx, projectId, type);
  const endpoint_identifier = isManagement ? null : randomBytes(8).toString("hex");
  const { id } = await tx
    .insertInto("alert_integrations")
    .values({ ...columns, name: given.name, project_id: projectId, type, active, endpoint_identifier })
    .returning("id")
    .executeTakeFirstOrThrow();
  const key = isManagement ? undefined : await addKey(tx, id);
  return { row: await requireIntegration(tx, projectId, id), key };
}

async function refuseSecond(tx: Tx, projectId: number) {
  const first = await integrationsOf(tx, projectId).limit(1).executeTakeFirst();
  if (first) throw badFields({ base: ["A second alert integration in a project requires the Premium plan"] });
}

/** Refuses to activate incident management beside what receives alerts, and the other way round. */
async function refuseBeside(tx: Tx, projectId: number, type: IntegrationType) {
  const isOther =
    type === "incident_management" ? sql<boolean>`i.type <> ${type}` : sql<boolean>`i.type = 'incident_management'`;
  const other = await integrationsOf(tx, projectId)
    .where("i.active", "=", true)
    .where(isOther)
    .limit(1)
    .executeTakeFirst();
  if (!other) return;
  const text =
    type === "incident_management"
      ? `Incident management replaces all other alert integrations; deactivate "${other.name}" first`
      : `The incident management "${other.name}" replaces all other alert integrations; deactivate it first`;
  throw badFields({ active: [text] });
}

export async function changeIntegration(
  { tx }: IntegrationWrite,
  projectId: number,
  id: number,
  given: GivenIntegration,
): Promise<IntegrationRow> {
  // Locked first, as where one is added: two requests might activate what excludes each other.
  await sql`select from projects where id = ${projectId} for no key update`.execute(tx);
  const { type, active } = await lockIntegration(tx, projectId, id);
  const columns = checkedColumns(type, given);
  if (columns.active === true && !active) await refuseBeside(tx, projectId, type);
  await tx
    .updateTable("alert_integrations")
    .set({ ...columns, updated_at: sql<string>`now()` })
    .where("id", "=", id)
    .execute();
  return requireIntegration(tx, projectId, id);
}

export async function removeIntegration(tx: Tx, projectId: number, id: number): Promise<IntegrationRow> {
  const integration = await lockIntegration(tx, projectId, id);
  await tx.deleteFrom("alert_integrations").where("id", "=", id).execute();
  return integration;
}

/** Replaces the key of an integration; the one before stays valid for so long. */
export async function resetKey(tx: Tx, projectId: number, id: number, overlapSeconds: number): Promise<WithKey> {
  const { type } = await lockIntegration(tx, projectId, id);
  if (type === "incident_management")
    throw badFields({ base: ["Incident management receives no alerts, so it has no key"] });
  const keys = tx.deleteFrom("alert_integration_keys").where("integration_id", "=", id);
  await (overlapSeconds === 0 ? keys : keys.where("expires_at", "is not", null)).execute();
  await tx
    .updateTable("alert_integration_keys")
    .set({ expires_at: sql<string>`now() + make_interval(secs => ${overlapSeconds})` })
    .where("integration_id", "=", id)
    .execute();
  const key = await addKey(tx, id);
  return { row: await requireIntegration(tx, projectId, id), key };
}

async function addKey(tx: Tx, integration_id: number): Promise<string> {
  const key = newIntegrationKey();
  const digest = Buffer.from(tokenDigest(key), "hex");
  await tx.insertInto("alert_integration_keys").values({ digest, integration_id }).execute();
  return key;
}
