import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import type { NamespaceRow } from "#domains/foundation/namespaces/queries.ts";

const exact = { additionalProperties: false };

/** A group, or the personal namespace of a user. */
export const Namespace = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    path: Type.String(),
    kind: Type.Enum(["user", "group"]),
    full_path: Type.String(),
    parent_id: Nullable(Type.Integer()),
    avatar_url: Nullable(Type.String()),
    web_url: Type.String(),
  },
  { ...exact, title: "Namespace" },
);

/** Whether a path is taken, and free alternatives. */
export const PathTaken = Type.Object(
  { exists: Type.Boolean(), suggests: Type.Array(Type.String()) },
  { ...exact, title: "PathTaken" },
);

/** The response if a job does the work; it has no content yet. */
export const Accepted = Type.Object({ message: Type.Literal("202 Accepted") }, { ...exact, title: "Accepted" });
export const accepted: Static<typeof Accepted> = { message: "202 Accepted" };

export const presentNamespace =
  (site: string) =>
  (row: NamespaceRow): Static<typeof Namespace> => ({
    id: row.id,
    name: row.name,
    path: row.path,
    kind: row.kind,
    full_path: row.full_path,
    parent_id: row.parent_id,
    avatar_url: row.kind === "user" ? userAvatar(site, row) : groupAvatar(site, row),
    web_url: row.kind === "user" ? `${site}/${row.full_path}` : groupAddress(site, row),
  });

const userAvatar = (site: string, { user_id, avatar_file }: NamespaceRow) =>
  user_id === null ? null : `${site}/uploads/-/system/user/avatar/${user_id}/${avatar_file ?? "default.svg"}`;

export const groupAvatar = (site: string, { id, avatar_file }: { id: number; avatar_file: string | null }) =>
  avatar_file === null ? null : `${site}/uploads/-/system/group/avatar/${id}/${avatar_file}`;

export const groupAddress = (site: string, { full_path }: { full_path: string }) => `${site}/groups/${full_path}`;
