import { sql } from "kysely";
import type { Repository, RepositoryName } from "#git/storages/storage.ts";
import type { Db } from "#db/database.ts";
import type { Consumer } from "#lib/consumer.ts";
import { missing, unavailable } from "#lib/refusal.ts";
import type { Services } from "#services.ts";

/** Where a repository is stored, and its default branch. */
export interface StorageLocation {
  readonly repository_id: number;
  readonly repository_storage: string;
  readonly repository_path: string;
  readonly default_branch: string | null;
}

/** The default branch of a snippet or wiki, the only branch that it may have. */
export const ONLY_BRANCH = "main";

/** The locations of repositories, and what each belongs to. */
export const repositoryLocations = (db: Db) =>
  db
    .selectFrom("repositories as r")
    .leftJoin("projects as p", "p.id", "r.project_id")
    .select([
      "r.project_id",
      "r.snippet_id",
      "r.wiki_project_id",
      "r.wiki_group_id",
      sql<string | null>`case when r.project_id is null then ${sql.lit(ONLY_BRANCH)} else p.default_branch end`.as(
        "default_branch",
      ),
      "r.id as repository_id",
      "r.storage as repository_storage",
      "r.disk_path as repository_path",
    ]);

export type OwnedLocation = Awaited<ReturnType<ReturnType<typeof repositoryLocations>["executeTakeFirstOrThrow"]>>;

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
  if (!known) throw missing("Repository");
  if (known.pushed && known.beginning === null) {
    if (await repository.exists()) return repository;
    // It had content; an empty one in its place would hide that the storage lost it.
    throw unavailable(60);
  }
  await repository.create(location.default_branch ?? "main", known.beginning ?? undefined);
  if (await contentOf(db.write, location.repository_id)) return repository;
  // What it belongs to was deleted meanwhile; its repository must not be recreated.
  await repository.remove();
  throw missing("Repository");
}

const contentOf = (db: Db, repositoryId: number) =>
  db
    .selectFrom("repositories")
    .select((row) => [row("pushed_at", "is not", null).as("pushed"), "beginning"])
    .where("id", "=", repositoryId)
    .executeTakeFirst();
