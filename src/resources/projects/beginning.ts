import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { beginning, FIRST_TITLE, README } from "#git/writing/beginning.ts";
import { isBranchName } from "#lib/branch-names.ts";
import type { Consumer } from "#lib/consumer.ts";
import { badFields } from "#lib/refusal.ts";
import { recordPush } from "#resources/events/record.ts";
import { repositoryPlacing } from "#resources/repositories/maintenance.ts";
import { type Placed, repositoryOf } from "#resources/repositories/place.ts";
import { commitEmail } from "#resources/users/present.ts";
import type { Services } from "#services.ts";
import { repositoriesOf } from "./queries.ts";

interface Making {
  readonly tx: Tx;
  readonly services: Services;
  readonly site: string;
}

/** Has the repository of a new project made, by a job or its first use, whichever comes first. */
export async function beginRepository({ tx, services, site }: Making, projectId: number, withReadme = false) {
  if (withReadme) await beginWithReadme(tx, projectId, site);
  await services.jobs.add(tx, repositoryPlacing, { project_id: projectId });
}

/** Settles what the first commit will be and tells of it now, so that whoever makes the repository makes the same. */
async function beginWithReadme(tx: Tx, projectId: number, site: string) {
  const { creator_id, default_branch, created_at, ...project } = await tx
    .selectFrom("projects")
    .select(["name", "description", "creator_id", "default_branch", "created_at"])
    .where("id", "=", projectId)
    .executeTakeFirstOrThrow();
  const creator = await tx
    .selectFrom("users")
    .select(["id", "username", "name", "email", "commit_email"])
    .where("id", "=", creator_id)
    .executeTakeFirstOrThrow();
  const branch = default_branch ?? "main";
  const { text, id } = beginning({
    branch,
    readme: [`# ${project.name}\n`, ...(project.description === "" ? [] : [`${project.description}\n`])].join("\n"),
    author: { name: creator.name, email: commitEmail(creator, site) },
    at: new Date(created_at),
  });
  await tx
    .insertInto("repositories")
    .values({ project_id: projectId, pushed_at: sql<string>`now()`, beginning: text, readme: README })
    .execute();
  await recordPush(tx, { project_id: projectId, author_id: creator.id, key_id: null }, [
    {
      push_action: "created",
      ref_type: "branch",
      ref: branch,
      commit_from: null,
      commit_to: id,
      commit_count: 1,
      commit_title: FIRST_TITLE,
      ref_count: null,
    },
  ]);
}

/** A repository with branches has its default one among them. */
export async function refuseAbsentBranch(
  services: Services,
  project: Placed,
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
