import Type, { type Static } from "typebox";
import { visibilityName } from "#access/roles.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { UserSummary } from "#domains/identity/users/entity.ts";
import type { UsersById } from "#domains/identity/users/summaries.ts";
import { VisibilityName } from "#domains/organization/projects/entity.ts";
import { ONLY_BRANCH } from "#domains/storage/repositories/location.ts";
import type { SnippetRow } from "./queries.ts";

const exact = { additionalProperties: false };
const Text = Type.String();
const Time = Type.String({ format: "date-time" });

const identity = {
  id: Type.Integer(),
  title: Text,
  description: Nullable(Text),
  visibility: VisibilityName,
  created_at: Time,
  updated_at: Time,
  project_id: Nullable(Type.Integer({ description: "Null for a personal snippet" })),
  web_url: Text,
  raw_url: Type.String({ description: "The content of its first file" }),
  ssh_url_to_repo: Text,
  http_url_to_repo: Text,
};

/** The fields that identify a snippet where another resource names it. */
export const SnippetIdentity = Type.Object(identity, { ...exact, title: "SnippetIdentity" });
type SnippetIdentity = Static<typeof SnippetIdentity>;

export const Snippet = Type.Object(
  {
    ...identity,
    author: Nullable(UserSummary),
    file_name: Nullable(Type.String({ description: "The path of its first file" })),
    files: Type.Array(Type.Object({ path: Text, raw_url: Text }, { ...exact, title: "SnippetFile" })),
    expires_at: Type.Null(),
    imported: Type.Boolean(),
    imported_from: Text,
    repository_storage: Type.Optional(Type.String({ description: "For administrators" })),
  },
  { ...exact, title: "Snippet" },
);
export type Snippet = Static<typeof Snippet>;

/** The prefixes of web links and of git addresses over SSH. */
export interface Addresses {
  readonly site: string;
  readonly ssh: string;
}

export function presentSnippetIdentity(row: SnippetRow, { site, ssh }: Addresses): SnippetIdentity {
  const above = row.project_path === null ? "" : `${row.project_path}/`;
  return {
    id: row.id,
    title: row.title,
    description: row.description,
    visibility: visibilityName(row.visibility),
    created_at: row.created_at,
    updated_at: row.updated_at,
    project_id: row.project_id,
    web_url: `${site}/${above}-/snippets/${row.id}`,
    raw_url: `${apiAddress(site, row)}/raw`,
    ssh_url_to_repo: `${ssh}${above}snippets/${row.id}.git`,
    http_url_to_repo: `${site}/${above}snippets/${row.id}.git`,
  };
}

const apiAddress = (site: string, { id, project_id }: SnippetRow) =>
  project_id === null ? `${site}/api/v4/snippets/${id}` : `${site}/api/v4/projects/${project_id}/snippets/${id}`;

export function presentSnippet(
  row: SnippetRow,
  users: UsersById,
  addresses: Addresses,
  isAdministrator: boolean,
): Snippet {
  const files = row.file_names ?? [];
  const rawUrl = (path: string) =>
    `${apiAddress(addresses.site, row)}/files/${ONLY_BRANCH}/${encodeURIComponent(path)}/raw`;
  return {
    ...presentSnippetIdentity(row, addresses),
    author: users.get(row.author_id) ?? null,
    file_name: files[0] ?? null,
    files: files.map((path) => ({ path, raw_url: rawUrl(path) })),
    expires_at: null,
    imported: false,
    imported_from: "none",
    ...(isAdministrator && { repository_storage: row.repository_storage }),
  };
}
