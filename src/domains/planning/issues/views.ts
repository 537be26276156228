import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Databases, Db } from "#db/database.ts";
import { bigints, type Lookup } from "#db/loader.ts";
import { fullPath, fullPathText } from "#domains/foundation/namespaces/queries.ts";
import { presentSummary } from "#domains/identity/users/present.ts";
import { findAccount, summariesOf } from "#domains/identity/users/queries.ts";
import { usersById } from "#domains/identity/users/summaries.ts";
import type { Answer } from "#domains/conversation/items/answer.ts";
import { withDescriptions } from "#domains/conversation/items/descriptions.ts";
import { epicVisibleTo, issueVisibleTo } from "#domains/planning/items/visibility.ts";
import { labelNamesOf } from "#domains/planning/labels/views.ts";
import { issueCounts, NO_COUNTS } from "./counts.ts";
import type { Issue, SingleIssue } from "./entity.ts";
import { milestonesOf } from "#domains/planning/milestones/of-items.ts";
import { ISSUE } from "./kind.ts";
import { type IssueSurroundings, presentIssue } from "./present.ts";
import type { IssueRow } from "./queries.ts";

/** The caller, and the container that the request names: references are relative to it. */
export interface IssueViewer extends Answer {
  readonly actor: Actor | null;
  readonly site: string;
  readonly project?: { readonly id: number };
  readonly group?: { readonly id: number };
}

/** Presents issues in the order of the rows with a constant number of statements. */
export async function issueViews(db: Db, rows: readonly IssueRow[], viewer: IssueViewer): Promise<Issue[]> {
  return (await viewsOf(db, rows, viewer, false)).map(({ view }) => view);
}

/** The same with what depends on the caller. */
export async function singleIssueViews(db: Db, rows: readonly IssueRow[], viewer: IssueViewer): Promise<SingleIssue[]> {
  return (await viewsOf(db, rows, viewer, true)).map(({ view, subscribed }) => ({ ...view, subscribed }));
}

export async function issueView(db: Db, row: IssueRow, viewer: IssueViewer): Promise<SingleIssue> {
  const [view] = await singleIssueViews(db, [row], viewer);
  return view!;
}

async function viewsOf(db: Db, rows: readonly IssueRow[], viewer: IssueViewer, withSubscription: boolean) {
  if (rows.length === 0) return [];
  const surroundings = await surroundingsOf(db, rows, viewer);
  const ids = rows.map(({ id }) => id);
  const labels = await labelNamesOf(db, ISSUE, ids, viewer);
  const counts = await issueCounts(db, ids, viewer.actor, withSubscription);
  const others = await othersOf(db, ids, viewer.actor);
  const milestones = await milestonesOf(db, ISSUE, rows, viewer.site);
  return (await withDescriptions(db, "issues", rows, viewer)).map((row) => {
    const counted = counts.get(row.id) ?? NO_COUNTS;
    const view = presentIssue(row, {
      ...surroundings(row),
      labels: labels(row.id),
      movedTo: others.get(row.id)?.movedTo ?? null,
      counts: counted,
      epic: others.get(row.id)?.epic ?? null,
      milestone: milestones.get(row.id) ?? null,
    });
    return { view, subscribed: counted.subscribed };
  });
}

/** The columns that name what surrounds an issue. */
type Surrounded = Pick<IssueRow, "author_id" | "assignee_ids" | "project_id" | "closed_by_id">;

/** Reads what surrounds issues, apart from what refers to them by their ids; a new issue has no id yet. */
export async function surroundingsOf(db: Db, rows: readonly Surrounded[], { site, project, group }: IssueViewer) {
  const userIds = rows.flatMap(({ author_id, closed_by_id, assignee_ids }) => [
    author_id,
    closed_by_id,
    ...assignee_ids,
  ]);
  const users = await usersById(db, userIds, site);
  const projectIds = [...rows.map(({ project_id }) => project_id), ...(project ? [project.id] : [])];
  const paths = await pathsOf(db, [...new Set(projectIds)], group?.id);
  const from = project ? paths.projects.get(project.id) : paths.group;
  return (row: Surrounded): Pick<IssueSurroundings, "site" | "path" | "from" | "users"> => ({
    site,
    users,
    path: paths.projects.get(row.project_id) ?? "",
    from: from ?? "",
  });
}

/**
 * What surrounds a new issue, by lookups that the requests of one moment share. The caller of the request is its author.
 */
export async function surroundingsOfNew(
  databases: Databases,
  db: Db,
  { project_id, assignee_ids }: Surrounded,
  { site, actor }: { readonly site: string; readonly actor: Actor },
): Promise<Pick<IssueSurroundings, "site" | "path" | "from" | "users">> {
  const [author, place, assignees] = await Promise.all([
    findAccount(databases, actor.user.id),
    databases.point.load(pathLookup, project_id),
    assignee_ids.length > 0 ? summariesOf(db, assignee_ids) : [],
  ]);
  const people = [...(author ? [author] : []), ...assignees];
  const path = place?.path ?? "";
  return { site, path, from: path, users: new Map(people.map((user) => [user.id, presentSummary(site)(user)])) };
}

interface ProjectPath {
  readonly id: number;
  readonly path: string;
}

const PATHS = `select p.id, ${fullPathText("n")} || '/' || p.path as path
  from projects p join namespaces n on n.id = p.namespace_id where p.id`;

const pathLookup: Lookup<number, ProjectPath> = {
  text: `${PATHS} = any($1::bigint[])`,
  keys: bigints,
  key: ({ id }) => id,
};

/** The full paths of projects by their ids, and that of a group. */
export async function pathsOf(db: Db, projectIds: readonly number[], groupId = 0) {
  const { rows } = await sql<ProjectPath & { readonly is_group: boolean }>`
    select id, path, false as is_group from (${sql.raw(PATHS)} = any(${projectIds}::bigint[])) some_projects
    union all
    select n.id, ${fullPath("n")}, true from namespaces n where n.id = ${groupId}`.execute(db);
  return {
    projects: new Map(rows.flatMap(({ id, path, is_group }) => (is_group ? [] : [[id, path] as const]))),
    group: rows.find(({ is_group }) => is_group)?.path,
  };
}

interface OthersRow {
  readonly issue_id: number;
  readonly moved_to: number | null;
  readonly epic: (Omit<NonNullable<Issue["epic"]>, "url"> & { readonly path: string }) | null;
}

/** The issues that some were moved to, and their epics, as far as the caller may see them. */
async function othersOf(db: Db, ids: readonly number[], actor: Actor | null) {
  const { rows } = await sql<OthersRow>`
    select own.id as issue_id,
      (select i.id from issues i join projects p on p.id = i.project_id
        where i.id = own.moved_to_id and ${issueVisibleTo(actor)}) as moved_to,
      (select json_build_object('id', e.id, 'iid', e.iid, 'title', e.title, 'group_id', e.group_id, 'path', ${fullPath("n")})
        from epic_issues t join epics e on e.id = t.epic_id join namespaces n on n.id = e.group_id
        where t.issue_id = own.id and ${epicVisibleTo(actor)}) as epic
    from issues own where own.id = any(${ids}::bigint[])`.execute(db);
  return new Map(
    rows.map(({ issue_id, moved_to, epic }) => [issue_id, { movedTo: moved_to, epic: epic && presentEpic(epic) }]),
  );
}

const presentEpic = ({ path, ...epic }: NonNullable<OthersRow["epic"]>): Issue["epic"] => ({
  ...epic,
  url: `/groups/${path}/-/epics/${epic.iid}`,
});
