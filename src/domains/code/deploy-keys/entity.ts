import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { ProjectIdentity } from "#domains/organization/projects/identity.ts";
import type { DeployKeyInProjectRow, DeployKeyRow } from "./queries.ts";

const Time = Type.String({ format: "date-time" });
const exact = { additionalProperties: false };

const deployKey = {
  id: Type.Integer(),
  title: Type.String(),
  created_at: Time,
  expires_at: Nullable(Time),
  last_used_at: Nullable(Time),
  key: Type.String(),
  usage_type: Type.String({ description: "Always auth_and_signing" }),
  fingerprint: Type.Optional(Type.String({ description: "MD5; absent on a FIPS installation" })),
  fingerprint_sha256: Type.String(),
};

/** A key with access to repositories of its own, independent of a user. */
export const DeployKey = Type.Object(deployKey, { ...exact, title: "DeployKey" });

/** A deploy key in the list of administrators. */
export const DeployKeyOfInstance = Type.Object(
  {
    ...deployKey,
    projects_with_write_access: Type.Array(ProjectIdentity, { description: "At most 100" }),
    projects_with_readonly_access: Type.Array(ProjectIdentity, { description: "At most 100" }),
  },
  { ...exact, title: "DeployKeyOfInstance" },
);

/** A deploy key in one of the projects that enabled it. */
export const DeployKeyInProject = Type.Object(
  {
    ...deployKey,
    can_push: Type.Boolean(),
    creator_active: Type.Boolean({
      description: "False if the user who added it is blocked, deactivated or deleted; the key keeps working",
    }),
  },
  { ...exact, title: "DeployKeyInProject" },
);

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
