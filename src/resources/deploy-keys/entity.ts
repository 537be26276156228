import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import type { DeployKeyInProjectRow, DeployKeyRow } from "./queries.ts";

const Time = Type.String({ format: "date-time" });
const exact = { additionalProperties: false };

/** What tells a project from others, for lists that name many. */
export const ProjectIdentity = Type.Object(
  {
    id: Type.Integer(),
    description: Nullable(Type.String()),
    name: Type.String(),
    name_with_namespace: Type.String(),
    path: Type.String(),
    path_with_namespace: Type.String(),
    created_at: Time,
  },
  { ...exact, title: "ProjectIdentity" },
);

const deployKey = {
  id: Type.Integer(),
  title: Type.String(),
  created_at: Time,
  expires_at: Nullable(Time),
  last_used_at: Nullable(Time),
  key: Type.String(),
  usage_type: Type.String({ description: "Always auth_and_signing" }),
  fingerprint: Type.Optional(Type.String({ description: "MD5; not there on a FIPS installation" })),
  fingerprint_sha256: Type.String(),
};

/** A key that opens repositories by itself. */
export const DeployKey = Type.Object(deployKey, { ...exact, title: "DeployKey" });

/** The same as administrators see it in the list of all. */
export const DeployKeyOfInstance = Type.Object(
  {
    ...deployKey,
    projects_with_write_access: Type.Array(ProjectIdentity, { description: "At most 100 of them" }),
    projects_with_readonly_access: Type.Array(ProjectIdentity, { description: "At most 100 of them" }),
  },
  { ...exact, title: "DeployKeyOfInstance" },
);

/** The same in one of the projects that it opens. */
export const DeployKeyInProject = Type.Object(
  {
    ...deployKey,
    can_push: Type.Boolean(),
    creator_active: Type.Boolean({
      description: "False where the user who added it is blocked, deactivated or gone; the key works all the same",
    }),
  },
  { ...exact, title: "DeployKeyInProject" },
);

/** Presents keys for an installation: a FIPS one knows no MD5. */
export const presentDeployKey =
  (fips: boolean) =>
  (row: DeployKeyRow): Static<typeof DeployKey> => ({
    id: row.id,
    title: row.title,
    created_at: row.created_at,
    expires_at: row.expires_at,
    last_used_at: row.last_used_at,
    key: row.key,
    usage_type: row.usage_type,
    ...(!fips && row.fingerprint_md5 !== null && { fingerprint: row.fingerprint_md5 }),
    fingerprint_sha256: row.fingerprint_sha256,
  });

export const presentDeployKeyInProject =
  (fips: boolean) =>
  (row: DeployKeyInProjectRow): Static<typeof DeployKeyInProject> => ({
    ...presentDeployKey(fips)(row),
    can_push: row.can_push,
    creator_active: row.creator_active,
  });
