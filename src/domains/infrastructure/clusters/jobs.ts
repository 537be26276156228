import Type from "typebox";
import { defineJob } from "#jobs/define.ts";
import { recordProbe } from "./actions.ts";
import { probe } from "./probe.ts";
import { clusterToProbe } from "./queries.ts";

/** Finds out whether the API of a cluster can be reached; only on request, since it sends the stored token. */
export const probeCluster = defineJob({
  name: "clusters.probe",
  queue: "outbound",
  payload: Type.Object({ cluster_id: Type.Integer() }, { additionalProperties: false }),
  key: ({ cluster_id }) => String(cluster_id),
  async run({ payload, services, transaction, signal }) {
    const cluster = await clusterToProbe(services.db.write, payload.cluster_id);
    if (!cluster) return;
    const outcome = await probe(services, cluster, signal);
    await transaction((tx) => recordProbe(tx, cluster, outcome));
  },
});
