import { type Actor, isAdministrator } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { missing } from "#lib/refusal.ts";
import { sharesOf } from "#domains/organization/shares/queries.ts";
import type { Services } from "#services.ts";
import type { Project, ProjectSummary } from "./entity.ts";
import { openIssueCounts } from "./open-issues.ts";
import { presentProject, presentProjectSummary } from "./present.ts";
import { sshAddress } from "./ssh-address.ts";
import { levelsIn, namespacesOfProjects, ownersOf, type ProjectRow, projects, repositoriesOf } from "./queries.ts";

/** The caller, and what links are built from. */
interface Viewer<Who extends Actor | null = Actor | null> {
  readonly actor: Who;
  readonly site: string;
  readonly services: Pick<Services, "config">;
}

const addressesFor = ({ site, services }: Viewer) => ({ site, ssh: sshAddress(services.config, site) });

/** Presents projects in the order of the rows with a constant number of statements. */
export async function projectSummaries(db: Db, rows: readonly ProjectRow[], viewer: Viewer): Promise<ProjectSummary[]> {
  const addresses = addressesFor(viewer);
  const namespaces = await namespacesById(db, rows);
  const repositories = await repositoriesById(db, rows);
  return rows.flatMap((row) => {
    const namespace = namespaces.get(row.namespace_id);
    return namespace ? presentProjectSummary(row, { namespace, repository: repositories.get(row.id) }, addresses) : [];
  });
}

/** The same for signed-in callers, with owners, shares and levels. */
export async function projectViews(db: Db, rows: readonly ProjectRow[], viewer: Viewer<Actor>): Promise<Project[]> {
  if (rows.length === 0) return [];
  const { actor } = viewer;
  const addresses = addressesFor(viewer);
  const ids = rows.map(({ id }) => id);
  const namespaces = await namespacesById(db, rows);
  const repositories = await repositoriesById(db, rows);
  const personal = [...namespaces.values()].filter(({ kind }) => kind === "user").map(({ id }) => id);
  const owners = personal.length > 0 ? await ownersOf(db, personal) : [];
  const shares = Map.groupBy(await sharesOf(db, actor, "project", ids), ({ shared_id }) => shared_id);
  const levels = new Map((await levelsIn(db, actor.user.id, ids)).map((found) => [found.id, found]));
  const openIssues = await openIssueCounts(db, actor, ids);
  const administrator = isAdministrator(actor);
  return rows.flatMap((row) => {
    const namespace = namespaces.get(row.namespace_id);
    if (!namespace) return [];
    const owner = owners.find(({ namespace_id }) => namespace_id === row.namespace_id);
    const around = {
      namespace,
      repository: repositories.get(row.id),
      owner,
      shares: shares.get(row.id) ?? [],
      levels: levels.get(row.id),
      openIssues: openIssues.get(row.id) ?? 0,
    };
    return presentProject(row, around, { ...addresses, administrator });
  });
}

async function namespacesById(db: Db, rows: readonly ProjectRow[]) {
  const ids = [...new Set(rows.map(({ namespace_id }) => namespace_id))];
  return new Map((ids.length > 0 ? await namespacesOfProjects(db, ids) : []).map((row) => [row.id, row]));
}

async function repositoriesById(db: Db, rows: readonly ProjectRow[]) {
  const ids = rows.map(({ id }) => id);
  return new Map((ids.length > 0 ? await repositoriesOf(db, ids) : []).map((row) => [row.project_id, row]));
}

/** Projects as the caller sees them: summaries if requested or if the caller is anonymous. */
export const viewProjects = (db: Db, rows: readonly ProjectRow[], { actor, ...where }: Viewer, simple = false) =>
  actor && !simple ? projectViews(db, rows, { actor, ...where }) : projectSummaries(db, rows, { actor, ...where });

/** One project as the caller sees it. */
export function viewProject(db: Db, id: number, viewer: Viewer<Actor>): Promise<Project>;
export function viewProject(db: Db, id: number, viewer: Viewer): Promise<Project | ProjectSummary>;
export async function viewProject(db: Db, id: number, viewer: Viewer): Promise<Project | ProjectSummary> {
  const row = await projects(db).where("p.id", "=", id).executeTakeFirst();
  const [view] = row ? await viewProjects(db, [row], viewer) : [];
  if (!view) throw missing("Project");
  return view;
}
