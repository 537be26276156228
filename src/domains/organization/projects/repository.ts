import type { Tx } from "#db/database.ts";
import { FIRST_COMMIT_TITLE, firstCommit, README } from "#git/writing/first-commit.ts";
import { isBranchName } from "#lib/branch-names.ts";
import type { Consumer } from "#lib/consumer.ts";
import { badFields } from "#lib/refusal.ts";
import { recordPush } from "#domains/foundation/events/pushes.ts";
import { addProjectRepository } from "#domains/storage/repositories/create.ts";
import { type StorageLocation, repositoryOf } from "#domains/storage/repositories/location.ts";
import { commitEmail } from "#domains/identity/users/present.ts";
import type { Services } from "#services.ts";
import { repositoriesOf } from "./queries.ts";

interface CreationContext {
  readonly tx: Tx;
  readonly services: Services;
}

/** Adds the repository of a new project; a job or its first use creates it on disk, whichever comes first. */
export async function addRepository({ tx, services }: CreationContext, projectId: number, withReadme = false) {
  const project = await tx
    .selectFrom("projects")
    .select(["id", "name", "description", "creator_id", "default_branch", "created_at", "repository_storage"])
    .where("id", "=", projectId)
    .executeTakeFirstOrThrow();
  const first = withReadme ? await recordFirstCommit(tx, project, services.config.externalUrl) : undefined;
  await addProjectRepository(tx, services.jobs, projectId, project.repository_storage, first);
}

interface NewProject {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly creator_id: number | null;
  readonly default_branch: string | null;
  readonly created_at: string;
}

/** Fixes and records the first commit with the project, so that any process creates the same repository. */
async function recordFirstCommit(tx: Tx, project: NewProject, externalUrl: string | undefined) {
  const creator = await tx
    .selectFrom("users")
    .select(["id", "username", "name", "email", "commit_email"])
    .where("id", "=", project.creator_id)
    .executeTakeFirstOrThrow();
  const branch = project.default_branch ?? "main";
  const { stream, id } = firstCommit({
    branch,
    readme: [`# ${project.name}\n`, ...(project.description === "" ? [] : [`${project.description}\n`])].join("\n"),
    author: { name: creator.name, email: commitEmail(creator, externalUrl) },
    at: new Date(project.created_at),
  });
  await recordPush(tx, { project_id: project.id, author_id: creator.id, key_id: null }, [
    {
      push_action: "created",
      ref_type: "branch",
      ref: branch,
      commit_from: null,
      commit_to: id,
      commit_count: 1,
      commit_title: FIRST_COMMIT_TITLE,
      ref_count: null,
    },
  ]);
  return { beginning: stream, readme: README };
}

/** Refuses a default branch that a non-empty repository does not have. */
export async function refuseMissingBranch(
  services: Services,
  project: StorageLocation & { readonly id: number },
  branch: string | undefined,
  consumer: Consumer,
) {
  if (branch === undefined || branch === project.default_branch || !isBranchName(branch)) return;
  const [known] = await repositoriesOf(services.db.write, [project.id]);
  if (!known || known.pushed_at === null) return;
  const repository = await repositoryOf(services, project, consumer);
  if (await repository.objects.info(`refs/heads/${branch}`)) return;
  throw badFields({ default_branch: ["is no branch of the repository"] });
}
