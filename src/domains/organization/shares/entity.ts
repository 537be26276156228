import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import type { NewShareRow } from "./actions.ts";
import type { ShareRow } from "./queries.ts";

/** A group that a group or project is shared with. */
export const SharedWithGroup = Type.Object(
  {
    group_id: Type.Integer(),
    group_name: Type.String(),
    group_full_path: Type.String(),
    group_access_level: Type.Integer(),
    expires_at: Nullable(Type.String({ format: "date" })),
  },
  { additionalProperties: false, title: "SharedWithGroup" },
);

/** A share of a project with a group. */
export const ProjectShare = Type.Object(
  {
    id: Type.Integer(),
    project_id: Type.Integer(),
    group_id: Type.Integer(),
    group_access: Type.Integer(),
    expires_at: Nullable(Type.String({ format: "date" })),
  },
  { additionalProperties: false, title: "ProjectShare" },
);

export const presentShare = (row: ShareRow): Static<typeof SharedWithGroup> => ({
  group_id: row.with_group_id,
  group_name: row.name,
  group_full_path: row.full_path,
  group_access_level: row.access_level,
  expires_at: row.expires_at,
});

export const presentProjectShare = (projectId: number, row: NewShareRow): Static<typeof ProjectShare> => ({
  id: row.id,
  project_id: projectId,
  group_id: row.with_group_id,
  group_access: row.access_level,
  expires_at: row.expires_at,
});
