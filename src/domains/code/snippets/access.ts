import { hasRole, mayUse, openTo, type ProjectSeen, visibleProject } from "#access/containers.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import type { Databases } from "#db/database.ts";
import { bigints, type Lookup } from "#db/loader.ts";
import { forbidden, missing } from "#lib/refusal.ts";
import { ONLY_BRANCH } from "#domains/storage/repositories/location.ts";

interface StoredSnippet {
  readonly id: number;
  readonly title: string;
  readonly visibility: number;
  /** Null for a personal snippet. */
  readonly project_id: number | null;
  readonly author_id: number | null;
  readonly default_branch: string;
  readonly repository_id: number;
  readonly repository_storage: string;
  readonly repository_path: string;
  readonly file_names: readonly string[];
  readonly size_bytes: number;
  readonly read_only: boolean;
}

/** A snippet that a caller may see. */
export interface SnippetSeen extends StoredSnippet {
  /** The project that it is in. */
  readonly project: ProjectSeen | undefined;
}

const snippetLookup: Lookup<number, StoredSnippet> = {
  text: `
    select s.id, s.title, s.visibility, s.project_id, s.author_id, '${ONLY_BRANCH}' as default_branch,
      r.id as repository_id, r.storage as repository_storage, r.disk_path as repository_path,
      coalesce(r.file_names, '{}') as file_names, r.size_bytes, coalesce(r.read_only_until > now(), false) as read_only
    from snippets s join repositories r on r.snippet_id = s.id
    where s.id = any($1::bigint[])`,
  keys: bigints,
  key: (row) => row.id,
};

/** Finds a snippet by its id, if the caller may see it. */
export async function visibleSnippet(db: Databases, actor: Actor | null, id: number): Promise<SnippetSeen | undefined> {
  const row = await db.point.load(snippetLookup, id);
  // Looked up in any case: the time must not tell a snippet of a hidden project from a missing one.
  const project = await visibleProject(db, actor, row?.project_id ?? 0);
  return row && maySee(actor, row, project) ? { ...row, project } : undefined;
}

function maySee(actor: Actor | null, snippet: StoredSnippet, project: ProjectSeen | undefined): boolean {
  const isOpen = isAdministrator(actor) || isAuthor(actor, snippet) || openTo(actor, snippet.visibility);
  if (snippet.project_id === null) return isOpen;
  if (!project || !mayUse(actor, project, "snippets")) return false;
  return isOpen || hasRole(actor, project, "guest");
}

const isAuthor = (actor: Actor | null, { author_id }: StoredSnippet) => actor !== null && actor.user.id === author_id;

/** Why a caller who sees a snippet may not change it, or undefined. */
export function changeProblem(actor: Actor | null, snippet: SnippetSeen): string | undefined {
  const { project } = snippet;
  const role = isAuthor(actor, snippet) ? "reporter" : "maintainer";
  const may = project ? hasRole(actor, project, role) : isAuthor(actor, snippet) || isAdministrator(actor);
  if (!may) return "You are not allowed to change this snippet";
  return project?.archived ? "The project is archived" : undefined;
}

/** Finds the snippet that a request names, by itself or in a project. */
export async function requireSnippet(
  db: Databases,
  { actor, project }: { readonly actor: Actor | null; readonly project?: ProjectSeen },
  id: number,
): Promise<SnippetSeen> {
  const snippet = await visibleSnippet(db, actor, id);
  if (!snippet || (project && snippet.project_id !== project.id)) throw missing("Snippet");
  return snippet;
}

/** The same for a caller who wants to change it. */
export async function requireChangeable(...named: Parameters<typeof requireSnippet>): Promise<SnippetSeen> {
  const snippet = await requireSnippet(...named);
  const problem = changeProblem(named[1].actor, snippet);
  if (problem !== undefined) throw forbidden(problem);
  return snippet;
}
