import Type from "typebox";
import { Flag, Id } from "#http/params/vocabulary.ts";

export const NamespaceFilters = Type.Object({
  search: Type.Optional(Type.String({ maxLength: 255, description: "Part of the name or path" })),
  owned_only: Type.Optional(
    Type.Boolean({ description: "Only the caller's personal namespace and groups they are Owner of" }),
  ),
  top_level_only: Flag,
});

export const NamespaceId = Type.Object({ id: Type.String({ description: "Id or full path" }) });

export const PathQuery = Type.Object({
  id: Type.String({ description: "The path to look for" }),
  parent_id: Type.Optional(Type.Integer({ ...Id, description: "The group to look in" })),
});
