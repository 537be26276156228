import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { ProjectSummary } from "#domains/organization/projects/entity.ts";
import { ProjectIdentity } from "#domains/organization/projects/identity.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { AUTHORIZATION_TYPES } from "./params.ts";
import type { ClusterRow } from "./queries.ts";

const exact = { additionalProperties: false };
const Text = Type.String();
const Time = Type.String({ format: "date-time" });

const PROBE_RESULTS = ["reachable", "token refused", "unexpected answer", "unreachable"] as const;

export interface ProbeOutcome {
  readonly result: (typeof PROBE_RESULTS)[number];
  /** What to tell people; nothing of what the other side sent. */
  readonly message: string | null;
}

const cluster = {
  id: Type.Integer(),
  name: Text,
  created_at: Time,
  domain: Nullable(Text),
  enabled: Type.Boolean(),
  managed: Type.Boolean(),
  provider_type: Type.Enum(["user", "gcp", "aws"]),
  platform_type: Type.Literal("kubernetes"),
  environment_scope: Text,
  cluster_type: Type.Literal("project_type"),
  namespace_per_environment: Type.Boolean(),
  user: Nullable(UserSummary),
  platform_kubernetes: Type.Object(
    {
      api_url: Text,
      namespace: Nullable(Text),
      authorization_type: Type.Enum([...AUTHORIZATION_TYPES]),
      ca_cert: Nullable(Text),
      token_set: Type.Boolean({ description: "Whether a token is stored; it is never returned" }),
    },
    exact,
  ),
  provider_gcp: Type.Null(),
  management_project: Nullable(ProjectIdentity),
  last_probe: Nullable(
    Type.Object(
      {
        result: Type.Enum([...PROBE_RESULTS]),
        message: Nullable(Text),
        finished_at: Time,
      },
      { ...exact, description: "Null until its API was probed as it is configured now" },
    ),
  ),
};

/** A Kubernetes cluster that a project uses. */
export const Cluster = Type.Object(cluster, { ...exact, title: "Cluster" });
/** The same with its project, where it is returned alone. */
export const ClusterWithProject = Type.Object(
  { ...cluster, project: ProjectSummary },
  { ...exact, title: "ClusterWithProject" },
);

/** The objects from other tables that a cluster is presented with. */
interface Related {
  readonly user: UserSummary | undefined;
  readonly managementProject: Static<typeof ProjectIdentity> | undefined;
}

export const presentCluster = (row: ClusterRow, { user, managementProject }: Related): Static<typeof Cluster> => ({
  id: row.id,
  name: row.name,
  created_at: row.created_at,
  domain: row.domain,
  enabled: row.enabled,
  managed: row.managed,
  provider_type: row.provider_type,
  platform_type: "kubernetes",
  environment_scope: row.environment_scope,
  cluster_type: "project_type",
  namespace_per_environment: row.namespace_per_environment,
  user: user ?? null,
  platform_kubernetes: {
    api_url: row.api_url,
    namespace: row.namespace,
    authorization_type: row.authorization_type,
    ca_cert: row.ca_cert,
    token_set: row.token_set,
  },
  provider_gcp: null,
  management_project: managementProject ?? null,
  last_probe: lastProbe(row),
});

const lastProbe = ({ probe_result: result, probe_message: message, probed_at }: ClusterRow) =>
  result === null || probed_at === null ? null : { result, message, finished_at: probed_at };
