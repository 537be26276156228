import Type, { type Static } from "typebox";
import { VISIBILITIES, type Visibility } from "#access/roles.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { Namespace } from "#resources/namespaces/entity.ts";
import { SharedWithGroup } from "#resources/shares/entity.ts";
import { UserSummary } from "#resources/users/entity.ts";
import { preferenceFields } from "./preferences.ts";

const exact = { additionalProperties: false };
const Text = Type.String();
const Time = Type.String({ format: "date-time" });
const NullableText = Nullable(Text);
const NullableDay = Nullable(Type.String({ format: "date" }));

export const VisibilityName = Type.Enum(Object.keys(VISIBILITIES) as Visibility[]);

const summary = {
  id: Type.Integer(),
  description: NullableText,
  name: Text,
  name_with_namespace: Text,
  path: Text,
  path_with_namespace: Text,
  created_at: Time,
  default_branch: NullableText,
  tag_list: Type.Array(Text, { deprecated: true }),
  topics: Type.Array(Text),
  ssh_url_to_repo: Text,
  http_url_to_repo: Text,
  web_url: Text,
  readme_url: NullableText,
  forks_count: Type.Integer(),
  avatar_url: NullableText,
  star_count: Type.Integer(),
  last_activity_at: Time,
  namespace: Namespace,
};

/** What everyone sees who sees a project at all. */
export const ProjectSummary = Type.Object(summary, { ...exact, title: "ProjectSummary" });

const Links = Type.Object(
  {
    self: Text,
    issues: Type.Optional(Text),
    merge_requests: Type.Optional(Text),
    repo_branches: Text,
    labels: Text,
    events: Text,
    members: Text,
    cluster_agents: Text,
  },
  exact,
);

const AccessShown = Nullable(Type.Object({ access_level: Type.Integer(), notification_level: Type.Integer() }, exact));

/** A project as signed-in callers see it. */
export const Project = Type.Object(
  {
    ...summary,
    updated_at: Time,
    container_registry_image_prefix: Text,
    _links: Links,
    empty_repo: Type.Boolean(),
    archived: Type.Boolean({ description: "Whether it, or a group that it is in, was put away" }),
    visibility: VisibilityName,
    owner: Type.Optional(UserSummary),
    creator_id: Nullable(Type.Integer()),
    import_status: Text,
    open_issues_count: Type.Integer(),
    ...preferenceFields,
    shared_with_groups: Type.Array(SharedWithGroup),
    marked_for_deletion_at: NullableDay,
    marked_for_deletion_on: NullableDay,
    repository_storage: Type.Optional(Type.String({ description: "For administrators" })),
    permissions: Type.Object({ project_access: AccessShown, group_access: AccessShown }, exact),
  },
  { ...exact, title: "Project" },
);

/** A project that is open to the members of a group. */
export const ProjectShare = Type.Object(
  {
    id: Type.Integer(),
    project_id: Type.Integer(),
    group_id: Type.Integer(),
    group_access: Type.Integer(),
    expires_at: NullableDay,
  },
  { ...exact, title: "ProjectShare" },
);

export const Starrer = Type.Object({ starred_since: Time, user: UserSummary }, { ...exact, title: "Starrer" });

/** A group that a project is in, or is shared with. */
export const GroupOfProject = Type.Object(
  {
    id: Type.Integer(),
    name: Text,
    avatar_url: NullableText,
    web_url: Text,
    full_name: Text,
    full_path: Text,
  },
  { ...exact, title: "GroupOfProject" },
);

export type ProjectSummary = Static<typeof ProjectSummary>;
export type Project = Static<typeof Project>;
