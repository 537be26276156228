import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import { VISIBILITIES } from "#access/roles.ts";
import type { Databases, Tx } from "#db/database.ts";
import { streamOfFirstCommit } from "#git/writing/first-commit.ts";
import { planChanges } from "#git/writing/plan.ts";
import { insertAudit } from "#http/audit.ts";
import { type Problems, throwProblems } from "#lib/problems.ts";
import { commitToOnlyBranch } from "#domains/code/commits/actions.ts";
import { authorizeWriteTo, committerOf, type RepositoryWriteRequest } from "#domains/code/repository/writing.ts";
import { checkVisibility } from "#domains/foundation/namespaces/placement.ts";
import { addSnippetRepository } from "#domains/storage/repositories/create.ts";
import { ONLY_BRANCH } from "#domains/storage/repositories/location.ts";
import { drawStorage, storageNames } from "#domains/storage/storages/weights.ts";
import type { Services } from "#services.ts";
import type { SnippetSeen } from "./access.ts";
import { actionsOf, firstActions } from "./files.ts";
import type { NewSnippet, SnippetChanges } from "./params.ts";
import { ofSnippet, snippetTarget } from "./repository.ts";

/** A person who writes a snippet. */
interface Writer {
  readonly services: Services;
  readonly actor: Actor;
}

async function checkedVisibility({ services, actor }: Writer, name: NewSnippet["visibility"]): Promise<number> {
  const problems: Problems = {};
  const visibility = VISIBILITIES[name ?? "private"];
  checkVisibility(problems, visibility, undefined, { actor, settings: await services.settings.current() });
  throwProblems(problems);
  return visibility;
}

/** Adds a snippet; a job or its first use creates its repository with the files. */
export async function createSnippet(
  tx: Tx,
  writer: Writer,
  projectId: number | null,
  params: NewSnippet,
): Promise<Pick<SnippetSeen, "id" | "title" | "project_id" | "author_id">> {
  const { services, actor } = writer;
  const visibility = await checkedVisibility(writer, params.visibility);
  const changes = planChanges(firstActions(params), new Map());
  const { title, description = null } = params;
  const author_id = actor.user.id;
  const { id } = await tx
    .insertInto("snippets")
    .values({ project_id: projectId, author_id, title, description, visibility })
    .returning("id")
    .executeTakeFirstOrThrow();
  const beginning = streamOfFirstCommit({
    branch: ONLY_BRANCH,
    author: await committerOf(writer, tx),
    title: `Add ${title}`,
    files: changes,
  });
  const storage = drawStorage(await services.settings.current(), storageNames(services.git));
  const file_names = changes.map(({ path }) => path).toSorted();
  await addSnippetRepository(tx, services.jobs, id, storage, { beginning, file_names });
  return { id, title, project_id: projectId, author_id };
}

/** Commits the changes of files and then stores the other ones; either part may be empty. */
export async function changeSnippet(
  snippet: SnippetSeen,
  { databases, ...write }: RepositoryWriteRequest & { readonly databases: Databases },
  params: SnippetChanges,
) {
  const { title, description, visibility: name } = params;
  const visibility = name && (await checkedVisibility(write, name));
  const actions = actionsOf(params, snippet.file_names);
  const columns = {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(visibility !== undefined && { visibility }),
  };
  if (actions.length > 0) {
    const access = await authorizeWriteTo(ofSnippet(snippet), write);
    await commitToOnlyBranch(access, write, `Update ${snippet.title}`, actions);
    // The commit took its time.
    await access.reauthorize([]);
  }
  if (Object.keys(columns).length === 0) return;
  await databases.transaction(async (tx) => {
    const updated_at = sql<string>`now()`;
    await tx
      .updateTable("snippets")
      .set({ ...columns, updated_at })
      .where("id", "=", snippet.id)
      .execute();
    // The commit has been audited already.
    if (actions.length > 0) return;
    const details = { changed: Object.keys(columns) };
    await insertAudit(tx, write.auditEntry({ ...snippetTarget(snippet), details }));
  });
}
