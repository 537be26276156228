import { projectRepository, type Repository } from "#git/storages/storage.ts";
import type { Db } from "#db/database.ts";
import type { Consumer } from "#lib/consumer.ts";
import { missing, unavailable } from "#lib/refusal.ts";
import type { Services } from "#services.ts";

/** What of a project says where its repository is. */
export interface Placed {
  readonly id: number;
  readonly repository_storage: string;
  readonly default_branch: string | null;
}

/** The repository of a project, for the use of a consumer; made if its first use is this one. */
export async function repositoryOf(
  { git, db }: Pick<Services, "git" | "db">,
  project: Placed,
  consumer: Consumer,
): Promise<Repository> {
  const repository = git.storage(project.repository_storage).repository(projectRepository(project.id), consumer);
  if (await repository.exists()) return repository;
  const known = await beginningOf(db.write, project.id);
  if (!known) throw missing("Project");
  if (known.pushed && known.beginning === null) {
    if (await repository.exists()) return repository;
    // It had something: an empty one in its place would hide that its storage lost it.
    throw unavailable(60);
  }
  await repository.create(project.default_branch ?? "main", known.beginning ?? undefined);
  if (await beginningOf(db.write, project.id)) return repository;
  // The project went away meanwhile, and its repository with it: what was made after that is nobody's.
  await repository.remove();
  throw missing("Project");
}

const beginningOf = (db: Db, projectId: number) =>
  db
    .selectFrom("projects as p")
    .leftJoin("repositories as r", "r.project_id", "p.id")
    .select((row) => [row("r.pushed_at", "is not", null).as("pushed"), "r.beginning"])
    .where("p.id", "=", projectId)
    .executeTakeFirst();
