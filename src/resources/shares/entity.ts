import Type, { type Static } from "typebox";
import { Nullable } from "#http/params/vocabulary.ts";
import type { ShareRow } from "./queries.ts";

/** A group whose members a group or project is open to. */
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

export const presentShare = (row: ShareRow): Static<typeof SharedWithGroup> => ({
  group_id: row.with_group_id,
  group_name: row.name,
  group_full_path: row.full_path,
  group_access_level: row.access_level,
  expires_at: row.expires_at,
});
