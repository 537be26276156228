import { inProject } from "#access/containers.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { addCluster, changeCluster, removeCluster } from "./actions.ts";
import { checkedFields } from "./check.ts";
import { Cluster, ClusterWithProject } from "./entity.ts";
import { probeCluster } from "./jobs.ts";
import { ClusterChanges, ClusterId, NewCluster } from "./params.ts";
import { type ClusterRow, clustersOf, lockCluster, requireCluster } from "./queries.ts";
import { clusterView, clusterViews } from "./views.ts";

const maintainer = inProject("maintainer");
const maintainerOfLive = inProject("maintainer", { unlessArchived: true });
const deprecated = { since: "2021-11-22", replacement: "an agent that runs in the cluster" } as const;

export const clusters = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/clusters",
    summary: "List the clusters of a project",
    access: maintainer,
    deprecated,
    params: ProjectId,
    returns: pageOf(Cluster, { id: "c.id" }),
    async handle({ db, project, page, ...viewer }) {
      return clusterViews(db, await page.rows(clustersOf(db, project.id)), viewer);
    },
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/clusters/:cluster_id",
    summary: "Get a cluster of a project",
    access: maintainer,
    deprecated,
    params: ClusterId,
    returns: ClusterWithProject,
    async handle({ db, project, params, ...viewer }) {
      return clusterView(db, await requireCluster(db, project.id, params.cluster_id), viewer);
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/clusters/user",
    summary: "Add an existing cluster to a project",
    access: maintainerOfLive,
    deprecated,
    params: NewCluster,
    returns: ClusterWithProject,
    audit: "cluster_added",
    prepare: async ({ project, params, ...context }) => ({ fields: await checkedFields(context, project, params) }),
    async handle({ project, fields, audit, ...context }) {
      const cluster = await addCluster(context, project.id, fields);
      audit(targetOf(cluster));
      return clusterView(context.tx, cluster, context);
    },
  }),

  update: endpoint({
    method: "PUT",
    path: "/projects/:id/clusters/:cluster_id",
    summary: "Change a cluster of a project",
    access: maintainerOfLive,
    deprecated,
    params: ClusterChanges,
    returns: ClusterWithProject,
    audit: "cluster_updated",
    async prepare({ project, params, ...context }) {
      await requireCluster(context.services.db.write, project.id, params.cluster_id);
      return { fields: await checkedFields(context, project, params) };
    },
    async handle({ project, params, fields, audit, ...context }) {
      const cluster = await changeCluster(context, project.id, params.cluster_id, fields);
      audit(targetOf(cluster));
      return clusterView(context.tx, cluster, context);
    },
  }),

  delete: endpoint({
    method: "DELETE",
    path: "/projects/:id/clusters/:cluster_id",
    summary: "Remove a cluster from a project; nothing in the cluster itself is changed",
    access: maintainer,
    deprecated,
    params: ClusterId,
    audit: "cluster_removed",
    conditional: true,
    async handle({ tx, project, params, audit, unlessModified }) {
      const cluster = await removeCluster(tx, project.id, params.cluster_id);
      unlessModified(cluster.updated_at);
      audit(targetOf(cluster));
    },
  }),

  probe: endpoint({
    method: "POST",
    path: "/projects/:id/clusters/:cluster_id/probe",
    summary: "Find out whether the API of a cluster can be reached; `last_probe` tells later",
    access: maintainerOfLive,
    deprecated,
    params: ClusterId,
    returns: ClusterWithProject,
    status: 202,
    audit: "cluster_probed",
    async handle({ project, params, audit, ...context }) {
      const { tx, services } = context;
      const cluster = await lockCluster(tx, project.id, params.cluster_id);
      await services.jobs.add(tx, probeCluster, { cluster_id: cluster.id });
      audit(targetOf(cluster));
      return clusterView(tx, cluster, context);
    },
  }),
};

const targetOf = ({ id, name, api_url, environment_scope, token_set, project_id }: ClusterRow) =>
  ({
    type: "Cluster",
    id,
    name,
    details: { api_url, environment_scope, token_set },
    entity: { type: "Project", id: project_id },
  }) as const;
