import { type Actor, isAdministrator } from "#access/actor.ts";
import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import { sharesOf } from "#resources/shares/queries.ts";
import type { Project, ProjectSummary } from "./entity.ts";
import { presentProject, presentProjectSummary } from "./present.ts";
import { levelsIn, namespacesOfProjects, ownersOf, type ProjectRow, projects } from "./queries.ts";

/** Who looks, and where links begin. */
interface Viewer<Who extends Actor | null = Actor | null> {
  readonly actor: Who;
  readonly site: string;
}

/** Projects in the order of the rows; the number of statements does not depend on theirs. */
export async function projectSummaries(db: Db, rows: readonly ProjectRow[], site: string): Promise<ProjectSummary[]> {
  const namespaces = await namespacesById(db, rows);
  return rows.flatMap((row) => {
    const namespace = namespaces.get(row.namespace_id);
    return namespace ? presentProjectSummary(row, namespace, site) : [];
  });
}

/** The same for signed-in callers, with everything that surrounds a project. */
export async function projectViews(
  db: Db,
  rows: readonly ProjectRow[],
  { actor, site }: Viewer<Actor>,
): Promise<Project[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const namespaces = await namespacesById(db, rows);
  const personal = [...namespaces.values()].filter(({ kind }) => kind === "user").map(({ id }) => id);
  const owners = personal.length > 0 ? await ownersOf(db, personal) : [];
  const shares = Map.groupBy(await sharesOf(db, actor, "project", ids), ({ shared_id }) => shared_id);
  const levels = new Map((await levelsIn(db, actor.user.id, ids)).map((found) => [found.id, found]));
  const administrator = isAdministrator(actor);
  return rows.flatMap((row) => {
    const namespace = namespaces.get(row.namespace_id);
    if (!namespace) return [];
    const owner = owners.find(({ namespace_id }) => namespace_id === row.namespace_id);
    const around = { namespace, owner, shares: shares.get(row.id) ?? [], levels: levels.get(row.id) };
    return presentProject(row, around, { site, administrator });
  });
}

async function namespacesById(db: Db, rows: readonly ProjectRow[]) {
  const ids = [...new Set(rows.map(({ namespace_id }) => namespace_id))];
  return new Map((ids.length > 0 ? await namespacesOfProjects(db, ids) : []).map((row) => [row.id, row]));
}

/** Projects as the caller sees them: in short where that was asked for, or by whoever is not signed in. */
export const viewProjects = (db: Db, rows: readonly ProjectRow[], { actor, site }: Viewer, simple = false) =>
  actor && !simple ? projectViews(db, rows, { actor, site }) : projectSummaries(db, rows, site);

/** One project as the caller sees it. */
export function viewProject(db: Db, id: number, viewer: Viewer<Actor>): Promise<Project>;
export function viewProject(db: Db, id: number, viewer: Viewer): Promise<Project | ProjectSummary>;
export async function viewProject(db: Db, id: number, viewer: Viewer): Promise<Project | ProjectSummary> {
  const row = await projects(db).where("p.id", "=", id).executeTakeFirst();
  const [view] = row ? await viewProjects(db, [row], viewer) : [];
  if (!view) throw missing("Project");
  return view;
}
