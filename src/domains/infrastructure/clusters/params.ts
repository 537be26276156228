import Type, { type Static } from "typebox";
import { Flag, Id, Nullable, Text } from "#http/params/vocabulary.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";

const MAX_TOKEN_LENGTH = 16_384;

/** The parameters of a cluster that are the same when it is added and when it is changed. */
const settings = {
  domain: Type.Optional(Nullable(Type.String({ maxLength: 255, description: "Base domain of its applications" }))),
  management_project_id: Type.Optional(
    Nullable(Type.Integer({ minimum: 0, description: "A project of the same namespace that the caller maintains" })),
  ),
  environment_scope: Type.Optional(
    Type.String({
      ...{ minLength: 1, maxLength: 255, plan: "premium" },
      description: "The environments it is for, `*` without it; no two clusters of a project have the same",
    }),
  ),
};

const Name = Type.String({ maxLength: 2048 });
const ApiUrl = Text(2048);
const platform = {
  ca_cert: Type.Optional(
    Nullable(Type.String({ maxLength: 65_536, description: "Certificates of a self-signed API, as PEM" })),
  ),
  namespace: Type.Optional(Nullable(Type.String({ maxLength: 63 }))),
};

export const AUTHORIZATION_TYPES = ["rbac", "abac", "unknown_authorization"] as const;

export const NewCluster = Type.Object({
  ...ProjectId.properties,
  name: Name,
  ...settings,
  enabled: Type.Boolean({ default: true }),
  managed: Type.Boolean({ default: true, description: "Whether namespaces and service accounts are created in it" }),
  namespace_per_environment: Type.Boolean({ default: true }),
  platform_kubernetes_attributes: Type.Object({
    api_url: ApiUrl,
    token: Text(MAX_TOKEN_LENGTH),
    ...platform,
    authorization_type: Type.Enum([...AUTHORIZATION_TYPES], { default: "rbac" }),
  }),
});

export const ClusterId = Type.Object({ ...ProjectId.properties, cluster_id: Id });

export const ClusterChanges = Type.Object({
  ...ClusterId.properties,
  name: Type.Optional(Name),
  ...settings,
  enabled: Flag,
  managed: Flag,
  namespace_per_environment: Flag,
  platform_kubernetes_attributes: Type.Optional(
    Type.Object({
      api_url: Type.Optional(
        Type.String({ ...ApiUrl, description: "Without a token in the same request, a change erases the stored one" }),
      ),
      token: Type.Optional(Type.String({ maxLength: MAX_TOKEN_LENGTH, description: "Blank keeps the stored one" })),
      ...platform,
    }),
  ),
});

/** What a request says about a cluster, new or not. */
export type GivenCluster = Pick<
  Static<typeof ClusterChanges>,
  Exclude<keyof Static<typeof ClusterChanges>, keyof Static<typeof ClusterId>>
> & {
  readonly platform_kubernetes_attributes?: { readonly authorization_type?: (typeof AUTHORIZATION_TYPES)[number] };
};
