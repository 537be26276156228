import { sql } from "kysely";
import { visibleTo } from "#access/visible.ts";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";
import { projectIdentities } from "#domains/organization/projects/identity.ts";

/** The clusters of a project. Whether one has a token is all that is read of it. */
export const clustersOf = (db: Db, projectId: number) =>
  db
    .selectFrom("clusters as c")
    .select(["c.id", "c.project_id", "c.user_id", "c.management_project_id", "c.name", "c.domain", "c.provider_type"])
    .select(["c.enabled", "c.managed", "c.namespace_per_environment", "c.environment_scope", "c.api_url"])
    .select(["c.authorization_type", "c.namespace", "c.ca_cert", "c.created_at", "c.updated_at"])
    .select(["c.probe_result", "c.probe_message", "c.probed_at"])
    .select(sql<boolean>`c.sealed_token is not null`.as("token_set"))
    .where("c.project_id", "=", projectId);

export type ClusterRow = Awaited<ReturnType<ReturnType<typeof clustersOf>["executeTakeFirstOrThrow"]>>;

export async function requireCluster(db: Db, projectId: number, id: number): Promise<ClusterRow> {
  return (await clustersOf(db, projectId).where("c.id", "=", id).executeTakeFirst()) ?? noCluster();
}

/** The same, locked against other changes. */
export async function lockCluster(tx: Db, projectId: number, id: number): Promise<ClusterRow> {
  return (await clustersOf(tx, projectId).where("c.id", "=", id).forUpdate().executeTakeFirst()) ?? noCluster();
}

const noCluster = (): never => {
  throw new Refusal("missing", "404 Not found");
};

/** The projects that manage some clusters, by their ids, as far as the caller may see them. */
export async function managementProjects(db: Db, actor: Actor, rows: readonly ClusterRow[]) {
  const ids = [...new Set(rows.flatMap(({ management_project_id: id }) => id ?? []))];
  if (ids.length === 0) return projectIdentities(db, []);
  const projects = await db
    .selectFrom("projects as p")
    .select(["p.id", "p.namespace_id", "p.description", "p.name", "p.path", "p.created_at"])
    .where("p.id", "=", sql<number>`any(${ids}::bigint[])`)
    .where(visibleTo(actor))
    .execute();
  return projectIdentities(db, projects);
}

/** What a probe needs, sealed as it is; undefined once the cluster is gone. */
export const clusterToProbe = (db: Db, id: number) =>
  db
    .selectFrom("clusters")
    .select(["id", "project_id", "api_url", "ca_cert", "sealed_token", "updated_at"])
    .where("id", "=", id)
    .executeTakeFirst();

export type ProbedCluster = NonNullable<Awaited<ReturnType<typeof clusterToProbe>>>;
