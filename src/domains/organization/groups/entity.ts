import Type, { type Static } from "typebox";
import { visibilityName } from "#access/roles.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { groupAddress, groupAvatar } from "#domains/organization/namespaces/entity.ts";
import { Project, ProjectSummary, VisibilityName } from "#domains/organization/projects/entity.ts";
import type { NamespaceRow } from "#domains/foundation/namespaces/queries.ts";
import { SharedWithGroup } from "#domains/organization/shares/entity.ts";
import { CREATORS, SUBGROUP_CREATORS } from "./params.ts";
import { preferenceFields, presentPreferences } from "./preferences.ts";
import type { GroupRow } from "./queries.ts";

const exact = { additionalProperties: false };

const group = {
  id: Type.Integer(),
  web_url: Type.String(),
  name: Type.String(),
  path: Type.String(),
  description: Type.String(),
  visibility: VisibilityName,
  project_creation_level: Type.Enum([...CREATORS]),
  subgroup_creation_level: Type.Enum([...SUBGROUP_CREATORS]),
  ...preferenceFields,
  emails_disabled: Type.Boolean({ deprecated: true }),
  avatar_url: Nullable(Type.String()),
  full_name: Type.String(),
  full_path: Type.String(),
  created_at: Type.String({ format: "date-time" }),
  parent_id: Nullable(Type.Integer()),
  organization_id: Type.Integer(),
  archived: Type.Boolean({ description: "Whether it, or a group that it is in, is archived" }),
  marked_for_deletion_on: Nullable(Type.String({ format: "date" })),
};

/** A group as lists show it. */
export const Group = Type.Object(group, { ...exact, title: "Group" });

const SomeProjects = Type.Optional(Type.Array(Type.Union([Project, ProjectSummary])));

/** A single group, with its shares and projects. */
export const GroupDetail = Type.Object(
  {
    ...group,
    shared_with_groups: Type.Array(SharedWithGroup),
    projects: SomeProjects,
    shared_projects: SomeProjects,
  },
  { ...exact, title: "GroupDetail" },
);

/** A group above a project, or one that it is shared with. */
export const GroupOfProject = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    avatar_url: Nullable(Type.String()),
    web_url: Type.String(),
    full_name: Type.String(),
    full_path: Type.String(),
  },
  { ...exact, title: "GroupOfProject" },
);

export type Group = Static<typeof Group>;
export type GroupDetail = Static<typeof GroupDetail>;

export const presentGroup =
  (site: string) =>
  (row: GroupRow): Group => {
    const preferences = presentPreferences(row.preferences);
    return {
      id: row.id,
      web_url: groupAddress(site, row),
      name: row.name,
      path: row.path,
      description: row.description,
      visibility: visibilityName(row.visibility),
      project_creation_level: row.project_creation_level,
      subgroup_creation_level: row.subgroup_creation_level,
      ...preferences,
      emails_disabled: !preferences.emails_enabled,
      avatar_url: groupAvatar(site, row),
      full_name: row.full_name,
      full_path: row.full_path,
      created_at: row.created_at,
      parent_id: row.parent_id,
      organization_id: 1,
      archived: row.archived,
      marked_for_deletion_on: row.marked_for_deletion_on,
    };
  };

export const presentGroupOfProject =
  (site: string) =>
  (row: NamespaceRow & { full_name: string }): Static<typeof GroupOfProject> => ({
    id: row.id,
    name: row.name,
    avatar_url: groupAvatar(site, row),
    web_url: groupAddress(site, row),
    full_name: row.full_name,
    full_path: row.full_path,
  });
