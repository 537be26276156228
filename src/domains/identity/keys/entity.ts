import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import { CurrentUser } from "#domains/identity/users/entity.ts";
import type { DeployKeyLinkRow, KeyRow } from "./queries.ts";

const Time = Type.String({ format: "date-time" });
const exact = { additionalProperties: false };

const published = {
  id: Type.Integer(),
  title: Type.String(),
  created_at: Time,
  expires_at: Nullable(Time),
  key: Type.String(),
  usage_type: Type.String({ description: "auth_and_signing, auth or signing" }),
};

/** A user's key as everyone sees it: with the user's name as comment, and without the time of its last use. */
export const PublishedKey = Type.Object(published, { ...exact, title: "PublishedKey" });

/** A user's key as they and administrators see it. */
export const Key = Type.Object({ ...published, last_used_at: Nullable(Time) }, { ...exact, title: "Key" });

/** A project that enabled a deploy key. */
const DeployKeyLink = Type.Object(
  {
    id: Type.Integer(),
    deploy_key_id: Type.Integer(),
    project_id: Type.Integer(),
    created_at: Time,
    updated_at: Time,
    can_push: Type.Boolean(),
  },
  { ...exact, title: "DeployKeyLink" },
);

/** A key with its user, or with the user who added a deploy key. */
export const KeyWithUser = Type.Object(
  {
    ...Key.properties,
    user: Nullable(CurrentUser),
    deploy_keys_projects: Type.Optional(
      Type.Array(DeployKeyLink, { description: "The projects that enabled a deploy key, at most 100" }),
    ),
  },
  { ...exact, title: "KeyWithUser" },
);

export const presentKey = (row: KeyRow): Static<typeof Key> => ({
  id: row.id,
  title: row.title,
  created_at: row.created_at,
  expires_at: row.expires_at,
  last_used_at: row.last_used_at,
  key: row.key,
  usage_type: row.usage_type,
});

export const presentLink = ({ key_id, ...link }: DeployKeyLinkRow): Static<typeof DeployKeyLink> => ({
  id: link.id,
  deploy_key_id: key_id,
  project_id: link.project_id,
  created_at: link.created_at,
  updated_at: link.updated_at,
  can_push: link.can_push,
});

export const presentPublishedKey =
  (name: string, site: string) =>
  (row: KeyRow): Static<typeof PublishedKey> => {
    const { last_used_at: _, ...key } = presentKey(row);
    const [kind, blob] = row.key.split(/[ \t]+/, 2);
    // A line break in the name would add another line to an authorized_keys file.
    const owner = name.replaceAll(/[\p{C}\p{Z}]+/gu, " ");
    return { ...key, key: `${kind} ${blob} ${owner} (${new URL(site).hostname})` };
  };
