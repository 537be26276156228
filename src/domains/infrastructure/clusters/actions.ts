import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Config } from "#config.ts";
import type { Tx } from "#db/database.ts";
import { isInPlan } from "#http/gates.ts";
import { badFields } from "#lib/refusal.ts";
import type { Sealing } from "#lib/sealing.ts";
import { type Bound, refuseMore } from "#domains/foundation/row-bounds.ts";
import type { ClusterFields } from "./check.ts";
import type { ProbeOutcome } from "./entity.ts";
import { type ClusterRow, clustersOf, lockCluster, type ProbedCluster, requireCluster } from "./queries.ts";

interface ClusterWrite {
  readonly tx: Tx;
  readonly services: { readonly sealing: Sealing; readonly config: Config };
}

/** Binds a sealed token to its row. */
export const sealingContext = (id: number) => `clusters.sealed_token ${id}`;

/** Each can be probed, which takes as long as its host likes. */
const CLUSTERS_BOUND: Bound = {
  ...{ table: "clusters", container: "projects", column: "project_id", max: 50 },
  message: "A project can have at most 50 clusters",
};

/** Only environment scopes tell several clusters apart. */
const SEVERAL = { plan: "premium" } as const;

const now = sql<string>`now()`;

export async function addCluster(
  { tx, actor, services }: ClusterWrite & { readonly actor: Actor },
  projectId: number,
  { token, name = "", api_url = "", ...fields }: ClusterFields,
): Promise<ClusterRow> {
  await refuseMore(tx, CLUSTERS_BOUND, projectId);
  if (!isInPlan(SEVERAL, services.config)) await refuseSecond(tx, projectId);
  const { id } = await tx
    .insertInto("clusters")
    .values({ ...fields, name, api_url, project_id: projectId, user_id: actor.user.id })
    .returning("id")
    .executeTakeFirstOrThrow();
  if (token !== undefined) await storeToken(tx, services.sealing, id, token);
  return requireCluster(tx, projectId, id);
}

async function refuseSecond(tx: Tx, projectId: number) {
  const first = await clustersOf(tx, projectId).limit(1).executeTakeFirst();
  if (first) throw badFields({ base: ["A second cluster in a project requires the Premium plan"] });
}

/** Changes a cluster. Its token is erased with a change of its address unless a new one comes along. */
export async function changeCluster(
  { tx, services }: ClusterWrite,
  projectId: number,
  id: number,
  { token, ...fields }: ClusterFields,
): Promise<ClusterRow> {
  const current = await lockCluster(tx, projectId, id);
  if (current.provider_type !== "user") refuseProviderFields(current, { token, ...fields });
  const isMoved = fields.api_url !== undefined && !isSameUrl(fields.api_url, current.api_url);
  const isProbeOutdated = isMoved || token !== undefined || fields.ca_cert !== undefined;
  await tx
    .updateTable("clusters")
    .set({ ...fields, updated_at: now })
    .$if(isMoved, (update) => update.set({ sealed_token: null }))
    .$if(isProbeOutdated, (update) => update.set({ probe_result: null, probe_message: null, probed_at: null }))
    .where("id", "=", id)
    .execute();
  if (token !== undefined) await storeToken(tx, services.sealing, id, token);
  return requireCluster(tx, projectId, id);
}

/** Only what was added by hand may change its name and how it is reached; the provider knows the others. */
function refuseProviderFields(current: ClusterRow, { name, api_url, ca_cert, token }: ClusterFields) {
  const isChanged = (given: string | null | undefined, known: string | null) => given !== undefined && given !== known;
  const isReachedOtherwise =
    isChanged(api_url, current.api_url) || isChanged(ca_cert, current.ca_cert) || token !== undefined;
  const problems = {
    ...(isChanged(name, current.name) && { name: ["can not be changed because it's synchronized with provider"] }),
    ...(isReachedOtherwise && { "platform_kubernetes.base": ["Cannot modify managed Kubernetes cluster"] }),
  };
  if (Object.keys(problems).length > 0) throw badFields(problems);
}

/** Whether two texts are the same URL, by its parts: a longer host may begin with a shorter one. */
const isSameUrl = (one: string, other: string) => new URL(one).href === new URL(other).href;

async function storeToken(tx: Tx, sealing: Sealing, id: number, token: string) {
  const sealed_token = await sealing.seal(token, sealingContext(id));
  await tx.updateTable("clusters").set({ sealed_token }).where("id", "=", id).execute();
}

export async function removeCluster(tx: Tx, projectId: number, id: number): Promise<ClusterRow> {
  const cluster = await lockCluster(tx, projectId, id);
  await tx.deleteFrom("clusters").where("id", "=", id).execute();
  return cluster;
}

/** Records the outcome of a probe, unless the cluster was changed meanwhile. */
export async function recordProbe(tx: Tx, { id, updated_at }: ProbedCluster, { result, message }: ProbeOutcome) {
  await tx
    .updateTable("clusters")
    .set({ probe_result: result, probe_message: message, probed_at: now })
    .where("id", "=", id)
    .where("updated_at", "=", updated_at)
    .execute();
}
