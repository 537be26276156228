import type { ProjectSeen } from "#access/containers.ts";
import { bigints, type Lookup } from "#db/loader.ts";
import { resolveCommit } from "#git/objects/names.ts";
import type { Repository } from "#git/storages/storage.ts";
import type { Consumer } from "#lib/consumer.ts";
import { missing } from "#lib/refusal.ts";
import type { Services } from "#services.ts";
import { type StorageLocation, repositoryOf } from "#domains/storage/repositories/location.ts";

/** What every read of code needs from its request. */
export interface CodeRequest {
  readonly services: Services;
  readonly project: ProjectSeen;
  readonly site: string;
  readonly consumer: Consumer;
}

/** Resolves the commit that a caller names, or the tip of the default branch; undefined if there is none. */
export async function namedCommit(
  repository: Repository,
  project: StorageLocation,
  name?: string,
): Promise<string | undefined> {
  if (name !== undefined && name !== "HEAD") return resolveCommit(repository, name);
  const branch = project.default_branch;
  const head = branch === null ? undefined : await resolveCommit(repository, `refs/heads/${branch}`);
  return head ?? resolveCommit(repository, "HEAD");
}

/** Opens the repository of a project and resolves a commit; a missing commit is refused as `thing`. */
export async function openAt(
  { services, project, consumer }: Pick<CodeRequest, "services" | "project" | "consumer">,
  name: string | undefined,
  thing: string,
) {
  const repository = await repositoryOf(services, project, consumer);
  const commit = await namedCommit(repository, project, name);
  if (commit === undefined) throw missing(thing);
  return { repository, commit };
}

const fullPaths: Lookup<number, { id: number; full_path: string }> = {
  text: `
    select p.id, (
      select string_agg(above.path, '/' order by cardinality(above.traversal_ids))
      from namespaces above where above.id = any(n.traversal_ids)) || '/' || p.path as full_path
    from projects p join namespaces n on n.id = p.namespace_id
    where p.id = any($1::bigint[])`,
  keys: bigints,
  key: (row) => row.id,
};

/** The web address of a project, for links to its content. */
export async function addressOf({ services, project, site }: CodeRequest): Promise<string> {
  const found = await services.db.point.load(fullPaths, project.id);
  return `${site}/${found?.full_path ?? project.path}`;
}
