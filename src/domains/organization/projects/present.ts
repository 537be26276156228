import { LEVELS, visibilityName } from "#access/roles.ts";
import { presentNamespace } from "#domains/organization/namespaces/entity.ts";
import { presentShare } from "#domains/organization/shares/entity.ts";
import type { ShareRow } from "#domains/organization/shares/queries.ts";
import { presentSummary } from "#domains/identity/users/present.ts";
import type { Project, ProjectSummary } from "./entity.ts";
import { presentPreferences } from "./preferences.ts";
import type { Levels, NamespaceOfProjects, Owner, ProjectRow, RepositoryOfProject } from "./queries.ts";

/** The numeric notification level on the wire; 3 means that the user's own setting applies. */
const NOTIFICATION_LEVEL = 3;

/** The prefixes of web links and of git addresses over SSH; the full path follows. */
interface Addresses {
  readonly site: string;
  readonly ssh: string;
}

export const presentProjectSummary = (
  row: ProjectRow,
  { namespace, repository }: Pick<Surroundings, "namespace" | "repository">,
  { site, ssh }: Addresses,
): ProjectSummary => {
  const fullPath = `${namespace.full_path}/${row.path}`;
  return {
    id: row.id,
    description: row.description === "" ? null : row.description,
    name: row.name,
    name_with_namespace: `${namespace.full_name} / ${row.name}`,
    path: row.path,
    path_with_namespace: fullPath,
    created_at: row.created_at,
    default_branch: row.default_branch,
    tag_list: row.topics,
    topics: row.topics,
    ssh_url_to_repo: `${ssh}${fullPath}.git`,
    http_url_to_repo: `${site}/${fullPath}.git`,
    web_url: `${site}/${fullPath}`,
    readme_url: repository?.readme
      ? `${site}/${fullPath}/-/blob/${encodeURI(`${row.default_branch}/${repository.readme}`).replaceAll("#", "%23")}`
      : null,
    forks_count: row.forks_count,
    avatar_url:
      row.avatar_file === null ? null : `${site}/uploads/-/system/project/avatar/${row.id}/${row.avatar_file}`,
    star_count: row.star_count,
    last_activity_at: row.last_activity_at,
    namespace: presentNamespace(site)(namespace),
  };
};

/** The rows from other tables that a project's view needs. */
export interface Surroundings {
  readonly namespace: NamespaceOfProjects;
  readonly repository: RepositoryOfProject | undefined;
  readonly owner: Owner | undefined;
  readonly shares: readonly ShareRow[];
  readonly levels: Levels | undefined;
  readonly openIssues: number;
}

export const presentProject = (
  row: ProjectRow,
  { namespace, repository, owner, shares, levels, openIssues }: Surroundings,
  { site, ssh, administrator }: Addresses & { readonly administrator: boolean },
): Project => {
  const summary = presentProjectSummary(row, { namespace, repository }, { site, ssh });
  const preferences = presentPreferences(row);
  const markedOn = row.marked_for_deletion_at?.slice(0, 10) ?? null;
  return {
    ...summary,
    updated_at: row.updated_at,
    container_registry_image_prefix: `${new URL(site).host}/${summary.path_with_namespace.toLowerCase()}`,
    _links: linksOf(`${site}/api/v4/projects/${row.id}`, preferences),
    empty_repo: (repository?.pushed_at ?? null) === null,
    archived: row.archived || namespace.archived,
    visibility: visibilityName(row.visibility),
    ...(owner && { owner: presentSummary(site)(owner) }),
    creator_id: row.creator_id,
    import_status: "none",
    open_issues_count: openIssues,
    ...preferences,
    shared_with_groups: shares.map(presentShare),
    marked_for_deletion_at: markedOn,
    marked_for_deletion_on: markedOn,
    ...(administrator && { repository_storage: row.repository_storage }),
    permissions: {
      project_access: accessOf(levels?.own ?? 0),
      // Minimal access to a group gives no access to its projects.
      group_access: accessOf(levels?.by_group ?? 0),
    },
  };
};

const accessOf = (level: number) =>
  level < LEVELS.guest ? null : { access_level: level, notification_level: NOTIFICATION_LEVEL };

const linksOf = (
  self: string,
  { issues_enabled, merge_requests_enabled }: Pick<Project, "issues_enabled" | "merge_requests_enabled">,
) => ({
  self,
  ...(issues_enabled && { issues: `${self}/issues` }),
  ...(merge_requests_enabled && { merge_requests: `${self}/merge_requests` }),
  repo_branches: `${self}/repository/branches`,
  members: `${self}/members`,
});
