import Type from "typebox";
import { LEVELS } from "#access/roles.ts";
import { CommaList, File, Flag, Id, Line, Nullable, Text } from "#http/params/vocabulary.ts";
import { VisibilityName } from "#domains/organization/projects/entity.ts";
import { preferenceParams } from "./preferences.ts";

export const ORDERS = ["name", "path", "id", "similarity"] as const;
export const CREATORS = ["noone", "owner", "maintainer", "developer", "administrator"] as const;
export const SUBGROUP_CREATORS = ["owner", "maintainer"] as const;
/** Levels that give access to what is in a group; minimal access does not. */
const Level = Type.Enum(Object.values(LEVELS).filter((level) => level !== LEVELS.minimal));

export const GroupId = Type.Object({ id: Type.String({ description: "Id or full path" }) });

const filters = {
  search: Type.Optional(Type.String({ maxLength: 255, description: "Part of the name or path" })),
  owned: Type.Optional(Type.Boolean({ description: "Only groups that the caller is Owner of" })),
  min_access_level: Type.Optional(Level),
  skip_groups: Type.Optional(CommaList(Id, { maxItems: 1000 })),
  visibility: Type.Optional(VisibilityName),
  archived: Type.Optional(Type.Boolean({ description: "Only archived groups, or only the others" })),
  order_by: Type.Optional(
    Type.Enum([...ORDERS], { description: "What to order by; `similarity` is by name without a search" }),
  ),
};

export const GroupFilters = Type.Object({
  ...filters,
  top_level_only: Flag,
  all_available: Type.Optional(
    Type.Boolean({ description: "All groups that the caller may see, and not only those they belong to" }),
  ),
});

export const SubgroupFilters = Type.Object({ ...GroupId.properties, ...filters });

export const GroupView = Type.Object({
  ...GroupId.properties,
  with_projects: Type.Optional(Type.Boolean({ description: "Whether to show the first 100 projects, as by default" })),
});

const details = {
  description: Type.Optional(Nullable(Type.String({ maxLength: 1024 }))),
  visibility: Type.Optional(VisibilityName),
  avatar: Type.Optional(Nullable(File)),
  project_creation_level: Type.Optional(Type.Enum([...CREATORS])),
  subgroup_creation_level: Type.Optional(Type.Enum([...SUBGROUP_CREATORS])),
  emails_disabled: Type.Optional(Type.Boolean({ deprecated: true })),
  ...preferenceParams,
};

export const NewGroup = Type.Object({
  name: Line(1024),
  path: Text(1024),
  parent_id: Type.Optional(Nullable(Id)),
  ...details,
});

export const GroupChanges = Type.Object({
  ...GroupId.properties,
  name: Type.Optional(Line(1024)),
  path: Type.Optional(Text(1024)),
  ...details,
});

export const Removal = Type.Object({
  ...GroupId.properties,
  permanently_remove: Type.Optional(
    Type.Boolean({ description: "Remove at once a group that is marked for deletion" }),
  ),
  full_path: Type.Optional(Type.String({ description: "The group's full path, to remove it at once" })),
});

export const Transfer = Type.Object({
  ...GroupId.properties,
  group_id: Type.Optional(Nullable(Type.Integer({ ...Id, description: "The group to move into; none for the top" }))),
});

export const ProjectGroupFilters = Type.Object({
  ...GroupId.properties,
  search: Type.Optional(Type.String({ maxLength: 255, description: "Part of the name or path" })),
  skip_groups: Type.Optional(CommaList(Id, { maxItems: 100 })),
  with_shared: Type.Optional(Type.Boolean({ description: "Also the groups that the project is shared with" })),
  shared_min_access_level: Type.Optional(Level),
});

export const AvatarFile = Type.Object({ ...GroupId.properties, file: Type.String({ maxLength: 255 }) });
