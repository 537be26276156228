import Type, { type Static } from "typebox";
import { VISIBILITIES, type Visibility } from "#access/roles.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { Namespace } from "#domains/organization/namespaces/entity.ts";
import { SharedWithGroup } from "#domains/organization/shares/entity.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import { MAX_COUNTED } from "./open-issues.ts";
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

/** The fields that everyone who may see a project sees. */
export const ProjectSummary = Type.Object(summary, { ...exact, title: "ProjectSummary" });

const Links = Type.Object(
  {
    self: Text,
    issues: Type.Optional(Text),
    merge_requests: Type.Optional(Text),
    repo_branches: Text,
    members: Text,
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
    archived: Type.Boolean({ description: "Whether it, or a group that it is in, is archived" }),
    visibility: VisibilityName,
    owner: Type.Optional(UserSummary),
    creator_id: Nullable(Type.Integer()),
    import_status: Text,
    open_issues_count: Type.Integer({
      description: `Those that the caller sees because of their role, at most ${MAX_COUNTED}`,
    }),
    ...preferenceFields,
    shared_with_groups: Type.Array(SharedWithGroup),
    marked_for_deletion_at: NullableDay,
    marked_for_deletion_on: NullableDay,
    repository_storage: Type.Optional(Type.String({ description: "For administrators" })),
    permissions: Type.Object({ project_access: AccessShown, group_access: AccessShown }, exact),
  },
  { ...exact, title: "Project" },
);

export type ProjectSummary = Static<typeof ProjectSummary>;
export type Project = Static<typeof Project>;
