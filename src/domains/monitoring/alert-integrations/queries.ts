import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import { fullPath } from "#domains/foundation/namespaces/queries.ts";
import type { Mappings } from "#domains/monitoring/alert-payloads/mapping.ts";

/** The alert integrations of a project, as rows of `i`, without anything of their keys but when the previous one ends. */
export const integrationsOf = (db: Db, projectId: number) =>
  db
    .selectFrom("alert_integrations as i")
    .innerJoin("projects as p", "p.id", "i.project_id")
    .innerJoin("namespaces as n", "n.id", "p.namespace_id")
    .select(["i.id", "i.project_id", "i.type", "i.name", "i.active", "i.endpoint_identifier", "i.external_url"])
    .select(["i.payload_example", "i.created_at", "i.updated_at"])
    .select(sql<Mappings>`i.payload_attribute_mappings`.as("mappings"))
    .select(sql<string>`${fullPath("n")} || '/' || p.path`.as("project_path"))
    .select(
      sql<string | null>`(
        select k.expires_at from alert_integration_keys k where k.integration_id = i.id and k.expires_at > now())`.as(
        "previous_key_expires_at",
      ),
    )
    .where("i.project_id", "=", projectId);

export type IntegrationRow = Awaited<ReturnType<ReturnType<typeof integrationsOf>["executeTakeFirstOrThrow"]>>;

export async function requireIntegration(db: Db, projectId: number, id: number): Promise<IntegrationRow> {
  return (await integrationsOf(db, projectId).where("i.id", "=", id).executeTakeFirst()) ?? noIntegration();
}

/** The same, locked against other changes. */
export async function lockIntegration(tx: Db, projectId: number, id: number): Promise<IntegrationRow> {
  const found = integrationsOf(tx, projectId).where("i.id", "=", id).forUpdate("i");
  return (await found.executeTakeFirst()) ?? noIntegration();
}

const noIntegration = (): never => {
  throw missing("Alert Integration");
};
