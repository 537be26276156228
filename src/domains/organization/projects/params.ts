import Type from "typebox";
import { LEVELS } from "#access/roles.ts";
import { CommaList, DateTime, File, Flag, Id, Line, Nullable, Text } from "#http/params/vocabulary.ts";
import { VisibilityName } from "./entity.ts";
import { preferenceParams } from "./preferences.ts";

/** The levels that a member can have in a project. */
const Level = Type.Enum(Object.values(LEVELS).filter((level) => level !== LEVELS.minimal));

export const ProjectId = Type.Object({ id: Type.String({ description: "Id or full path" }) });

export const ProjectFilters = Type.Object({
  search: Type.Optional(Type.String({ maxLength: 512, description: "Words of the name, path or description" })),
  membership: Type.Optional(Type.Boolean({ description: "Only projects that the caller belongs to" })),
  owned: Type.Optional(Type.Boolean({ description: "Only projects that the caller is Owner of" })),
  starred: Type.Optional(Type.Boolean({ description: "Only projects that the caller has starred" })),
  min_access_level: Type.Optional(Level),
  visibility: Type.Optional(VisibilityName),
  archived: Flag,
  topic: Type.Optional(
    CommaList(Type.String({ maxLength: 255 }), { maxItems: 20, description: "All of these topics" }),
  ),
  repository_storage: Type.Optional(Type.String({ maxLength: 255, description: "For administrators" })),
  id_after: Type.Optional(Id),
  id_before: Type.Optional(Id),
  last_activity_after: Type.Optional(DateTime),
  last_activity_before: Type.Optional(DateTime),
  with_issues_enabled: Flag,
  with_merge_requests_enabled: Flag,
  simple: Type.Optional(Type.Boolean({ description: "Only the most important fields" })),
});

export const GroupsProjectFilters = Type.Object({
  ...ProjectId.properties,
  ...ProjectFilters.properties,
  include_subgroups: Type.Boolean({ default: false }),
  with_shared: Type.Boolean({ default: true, description: "Whether projects that are shared with the group count" }),
});

export const UsersProjectFilters = Type.Object({
  user_id: Type.String({ maxLength: 255, description: "Id or username" }),
  ...ProjectFilters.properties,
});

const MAX_TOPICS = 100;
const Topics = Type.Optional(CommaList(Type.String({ maxLength: 255 }), { maxItems: MAX_TOPICS }));

const settings = {
  description: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
  visibility: Type.Optional(VisibilityName),
  default_branch: Type.Optional(Text(255)),
  topics: Topics,
  tag_list: Topics,
  avatar: Type.Optional(Nullable(File)),
  ...preferenceParams,
};

const creation = {
  name: Type.Optional(Line(255)),
  path: Type.Optional(Text(255)),
  namespace_id: Type.Optional(
    Type.Union([Id, Text(8192)], {
      description: "Id or full path of a group or user; the caller's personal namespace without it",
    }),
  ),
  repository_storage: Type.Optional(Type.String({ maxLength: 255, description: "For administrators" })),
  initialize_with_readme: Type.Optional(
    Type.Boolean({ description: "Whether to create a first commit with a README" }),
  ),
  ...settings,
};
const NAMED = { atLeastOneOf: [["name", "path"]] };

export const NewProject = Type.Object(creation, NAMED);
export const NewProjectOfUser = Type.Object({ user_id: Id, ...creation }, NAMED);

export const ProjectChanges = Type.Object({
  ...ProjectId.properties,
  name: Type.Optional(Line(255)),
  path: Type.Optional(Text(255)),
  ...settings,
});

export const Removal = Type.Object({
  ...ProjectId.properties,
  permanently_remove: Type.Optional(
    Type.Boolean({ description: "Remove at once a project that is marked for deletion" }),
  ),
  full_path: Type.Optional(Type.String({ description: "The project's full path, to remove it at once" })),
});

export const Transfer = Type.Object({
  ...ProjectId.properties,
  namespace: Type.Union([Id, Text(8192)], { description: "Id or full path of the group or user to move it to" }),
});

export const GroupsProject = Type.Object({
  ...ProjectId.properties,
  project_id: Type.String({ description: "Id or full path" }),
});

export const AvatarFile = Type.Object({ ...ProjectId.properties, file: Type.String({ maxLength: 255 }) });
