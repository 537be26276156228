import type { Repository, RepositoryName } from "#git/storages/storage.ts";
import type { Db } from "#db/database.ts";
import type { Consumer } from "#lib/consumer.ts";
import { missing, unavailable } from "#lib/refusal.ts";
import type { Services } from "#services.ts";

/** Where a repository is stored, and the default branch of the project it belongs to. */
export interface StorageLocation {
  readonly repository_id: number;
  readonly repository_storage: string;
  readonly repository_path: string;
  readonly default_branch: string | null;
}

/** The locations of the repositories of projects. */
export const projectLocations = (db: Db) =>
  db
    .selectFrom("repositories as r")
    .innerJoin("projects as p", "p.id", "r.project_id")
    .select([
      "p.id as project_id",
      "p.default_branch",
      "r.id as repository_id",
      "r.storage as repository_storage",
      "r.disk_path as repository_path",
    ]);

/** The repository at a location, whether it exists or not. */
export const repositoryAt = (
  { git }: Pick<Services, "git">,
  { repository_storage, repository_path }: Pick<StorageLocation, "repository_storage" | "repository_path">,
  consumer?: Consumer,
): Repository => git.storage(repository_storage).repository(repository_path as RepositoryName, consumer);

/** Opens a repository on behalf of a consumer, creating it on its first use. */
export async function repositoryOf(
  { git, db }: Pick<Services, "git" | "db">,
  location: StorageLocation,
  consumer: Consumer,
): Promise<Repository> {
  const repository = repositoryAt({ git }, location, consumer);
  if (await repository.exists()) return repository;
  const known = await contentOf(db.write, location.repository_id);
  if (!known) throw missing("Project");
  if (known.pushed && known.beginning === null) {
    if (await repository.exists()) return repository;
    // It had content; an empty one in its place would hide that the storage lost it.
    throw unavailable(60);
  }
  await repository.create(location.default_branch ?? "main", known.beginning ?? undefined);
  if (await contentOf(db.write, location.repository_id)) return repository;
  // The project was deleted meanwhile; its repository must not be recreated.
  await repository.remove();
  throw missing("Project");
}

const contentOf = (db: Db, repositoryId: number) =>
  db
    .selectFrom("repositories")
    .select((row) => [row("pushed_at", "is not", null).as("pushed"), "beginning"])
    .where("id", "=", repositoryId)
    .executeTakeFirst();
