import { resolveNamespace, resolveProject } from "#access/paths.ts";
import type { Principal } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import type { Consumer } from "#lib/consumer.ts";
import { authorize, noRepository } from "#domains/code/repository/authorize.ts";
import { ofProject, projectSeenBy } from "#domains/code/repository/project.ts";
import { ofSnippet, snippetSeenBy } from "#domains/code/snippets/repository.ts";
import { wikiSeenBy } from "#domains/code/wikis/access.ts";
import { ofWiki } from "#domains/code/wikis/repository.ts";
import type { Owned, RepositoryAccess, RepositoryNeed } from "#domains/storage/pushes/access.ts";
import type { Services } from "#services.ts";

/** Finds what the repository at a path, without `.git`, belongs to; a hidden one is refused like a missing one. */
export async function ownerAt(db: Databases, principal: Principal, path: string): Promise<Owned> {
  const owned =
    (await snippetAt(db, principal, path)) ??
    (await projectAt(db, principal, path)) ??
    (await wikiAt(db, principal, path));
  if (!owned) throw noRepository();
  return owned;
}

/** A personal snippet is at `snippets/1`, one of a project at the path of the project followed by that. */
const SNIPPET_PATH = /^(?:(?<project>.+)\/)?snippets\/(?<id>\d{1,15})$/;

async function snippetAt(db: Databases, principal: Principal, path: string): Promise<Owned | undefined> {
  const { id, project } = SNIPPET_PATH.exec(path)?.groups ?? {};
  if (id === undefined) return undefined;
  const snippet = await snippetSeenBy(db, principal, Number(id));
  const projectId = project === undefined ? null : (await resolveProject(db, project)).id;
  return snippet && snippet.project_id === projectId ? ofSnippet(snippet) : undefined;
}

/** A wiki is at the path of its project or group followed by `.wiki`. */
async function wikiAt(db: Databases, principal: Principal, path: string): Promise<Owned | undefined> {
  const { base } = /^(?<base>.+)\.wiki$/.exec(path)?.groups ?? {};
  // Only the API accepts ids in place of paths.
  if (base === undefined || /^\d+$/.test(base)) return undefined;
  const [project, group] = await Promise.all([resolveProject(db, base), resolveNamespace(db, base)]);
  // Both are looked up in any case: the time must not tell a hidden one from a missing one.
  const wiki =
    (await wikiSeenBy(db, principal, "project", project.id)) ?? (await wikiSeenBy(db, principal, "group", group.id));
  return wiki && ofWiki(wiki);
}

async function projectAt(db: Databases, principal: Principal, path: string): Promise<Owned | undefined> {
  // Only the API accepts the id of a project in place of its path.
  const { id } = path.includes("/") ? await resolveProject(db, path) : { id: 0 };
  const project = await projectSeenBy(db, principal, id);
  return project && ofProject(project);
}

/** Authorizes access to the repository at a current or previous path. */
export const authorizeByPath = async (
  services: Services,
  principal: Principal,
  path: string,
  need: RepositoryNeed,
  consumer: Consumer,
): Promise<RepositoryAccess> =>
  authorize(services, principal, await ownerAt(services.db, principal, path), need, consumer);
