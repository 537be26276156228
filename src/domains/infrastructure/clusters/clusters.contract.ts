import type { Contract } from "#test/contract.ts";
import { inProject, READ, WRITE } from "#test/matrix/line.ts";
import { insertForIds, word } from "#test/matrix/rows.ts";
import { BY_OFFSET, FIRST, list } from "#test/plans/request.ts";

const CLUSTER = { child: "cluster" } as const;
const READ_ONLY = { answers: { archived: 403, "archived above": 403 } } as const;
const API_URL = "https://k8s.example.com";

export const contract: Contract = {
  lines: {
    "GET /projects/:id/clusters": inProject("maintainer", 200, READ, { holds: "cluster" }),
    "GET /projects/:id/clusters/:cluster_id": inProject("maintainer", 200, READ, CLUSTER),
    "POST /projects/:id/clusters/user": inProject("maintainer", 201, WRITE, {
      ...READ_ONLY,
      send:
        `name=*&environment_scope=*&platform_kubernetes_attributes[api_url]=${API_URL}` +
        "&platform_kubernetes_attributes[token]=secret",
    }),
    "PUT /projects/:id/clusters/:cluster_id": inProject("maintainer", 200, WRITE, {
      ...CLUSTER,
      ...READ_ONLY,
      send: `name=*&platform_kubernetes_attributes[api_url]=${API_URL}`,
    }),
    "DELETE /projects/:id/clusters/:cluster_id": inProject("maintainer", 204, WRITE, CLUSTER),
    "POST /projects/:id/clusters/:cluster_id/probe": inProject("maintainer", 202, WRITE, { ...CLUSTER, ...READ_ONLY }),
  },
  tables: ["clusters"],
  differing: ["environment_scope", "sealed_token"],
  unrepeatable: { "POST /projects/:id/clusters/:cluster_id/probe": "only a job records its result" },
  plans: {
    sample: `select project_id as project, min(id) as id from clusters
      group by project_id order by count(*) desc, project_id limit 1`,
    requests: ({ project, id }) => [
      ...list(`/projects/${project}/clusters`, { places: BY_OFFSET }),
      ...list(`/projects/${project}/clusters/${id}`, { places: FIRST }),
    ],
    indexes: ({ project }) => ({ clusters_of_project: `/projects/${project}/clusters` }),
  },
  fixtures: {
    cluster: {
      parents: ["project"],
      make: ({ db }, parents) =>
        insertForIds(
          db,
          "clusters",
          parents.map(({ id, acting }) => ({
            ...{ project_id: id, user_id: acting ?? null, name: word(), environment_scope: word(), api_url: API_URL },
            ...{ provider_type: "user", enabled: true, managed: true, namespace_per_environment: true },
            ...{ authorization_type: "rbac" },
          })),
          "environment_scope",
        ),
    },
  },
};
