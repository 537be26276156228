import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { fullPath } from "#domains/foundation/namespaces/queries.ts";
import { presentSummary } from "#domains/identity/users/present.ts";
import { summariesOf } from "#domains/identity/users/queries.ts";
import { epicVisibleTo, issueVisibleTo } from "#domains/planning/items/visibility.ts";
import type { Issue } from "./entity.ts";
import { type IssueSurroundings, presentIssue } from "./present.ts";
import type { IssueRow } from "./queries.ts";

/** The caller, and the container that the request names: references are relative to it. */
export interface IssueViewer {
  readonly actor: Actor | null;
  readonly site: string;
  readonly project?: { readonly id: number };
  readonly group?: { readonly id: number };
}

/** Presents issues in the order of the rows with a constant number of statements. */
export async function issueViews(db: Db, rows: readonly IssueRow[], viewer: IssueViewer): Promise<Issue[]> {
  if (rows.length === 0) return [];
  const surroundings = await surroundingsOf(db, rows, viewer);
  const ids = rows.map(({ id }) => id);
  const labels = await labelsOf(db, ids);
  const blocking = await blockingCounts(db, ids, viewer.actor);
  const epics = await epicsOf(db, ids, viewer.actor);
  return rows.map((row) =>
    presentIssue(row, {
      ...surroundings(row),
      labels: labels.get(row.id) ?? [],
      blocking: blocking.get(row.id) ?? 0,
      epic: epics.get(row.id) ?? null,
    }),
  );
}

/** One issue with what depends on the caller. */
export async function issueView(db: Db, row: IssueRow, viewer: IssueViewer) {
  const [view] = await issueViews(db, [row], viewer);
  return { ...view!, subscribed: isParticipant(row, viewer.actor) };
}

/** Whether somebody takes part in an issue: nobody can subscribe to another one yet. */
export const isParticipant = ({ author_id, assignee_ids }: Involved, actor: Actor | null): boolean =>
  actor !== null && (author_id === actor.user.id || assignee_ids.includes(actor.user.id));

type Involved = Pick<IssueRow, "author_id" | "assignee_ids">;
/** The columns that name what surrounds an issue. */
type Surrounded = Involved & Pick<IssueRow, "project_id" | "closed_by_id">;

/** Reads what surrounds issues, apart from what refers to them by their ids; a new issue has no id yet. */
export async function surroundingsOf(db: Db, rows: readonly Surrounded[], { site, project, group }: IssueViewer) {
  const userIds = rows.flatMap(({ author_id, closed_by_id, assignee_ids }) => [
    author_id,
    closed_by_id,
    ...assignee_ids,
  ]);
  const people = await summariesOf(db, [...new Set(userIds.filter((id) => id !== null))]);
  const users = new Map(people.map((user) => [user.id, presentSummary(site)(user)]));
  const projectIds = [...rows.map(({ project_id }) => project_id), ...(project ? [project.id] : [])];
  const paths = await pathsOfProjects(db, [...new Set(projectIds)]);
  const from = project ? paths.get(project.id) : group && (await pathOfGroup(db, group.id));
  return (row: Surrounded): Pick<IssueSurroundings, "site" | "path" | "from" | "users"> => ({
    site,
    users,
    path: paths.get(row.project_id) ?? "",
    from: from ?? "",
  });
}

async function pathsOfProjects(db: Db, ids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const rows = await db
    .selectFrom("projects as p")
    .innerJoin("namespaces as n", "n.id", "p.namespace_id")
    .select(["p.id", sql<string>`${fullPath("n")} || '/' || p.path`.as("path")])
    .where("p.id", "=", sql<number>`any(${ids}::bigint[])`)
    .execute();
  return new Map(rows.map(({ id, path }) => [id, path]));
}

async function pathOfGroup(db: Db, id: number): Promise<string | undefined> {
  const row = await db
    .selectFrom("namespaces as n")
    .select(fullPath("n").as("path"))
    .where("n.id", "=", id)
    .executeTakeFirst();
  return row?.path;
}

/** The names of the labels of issues, sorted. */
async function labelsOf(db: Db, ids: readonly number[]): Promise<ReadonlyMap<number, readonly string[]>> {
  const { rows } = await sql<{ issue_id: number; names: string[] }>`
    select t.issue_id, array_agg(l.name order by l.name) as names
    from label_links t join labels l on l.id = t.label_id
    where t.issue_id = any(${ids}::bigint[]) group by t.issue_id`.execute(db);
  return new Map(rows.map(({ issue_id, names }) => [issue_id, names]));
}

/** How many open issues each of some issues blocks, as far as the caller may see them. */
async function blockingCounts(db: Db, ids: readonly number[], actor: Actor | null) {
  const { rows } = await sql<{ source_id: number; count: number }>`
    select t.source_id, count(*) as count
    from issue_links t join issues i on i.id = t.target_id join projects p on p.id = i.project_id
    where t.source_id = any(${ids}::bigint[]) and t.link_type = 'blocks' and i.state = 'opened'
      and ${issueVisibleTo(actor)} group by t.source_id`.execute(db);
  return new Map(rows.map(({ source_id, count }) => [source_id, count]));
}

/** The epics of issues, as far as the caller may see them. */
async function epicsOf(db: Db, ids: readonly number[], actor: Actor | null) {
  const { rows } = await sql<NonNullable<Issue["epic"]> & { issue_id: number; path: string }>`
    select t.issue_id, e.id, e.iid, e.title, e.group_id, ${fullPath("n")} as path
    from epic_issues t join epics e on e.id = t.epic_id join namespaces n on n.id = e.group_id
    where t.issue_id = any(${ids}::bigint[]) and ${epicVisibleTo(actor)}`.execute(db);
  return new Map(
    rows.map(({ issue_id, path, id, iid, title, group_id }) => [
      issue_id,
      { id, iid, title, group_id, url: `/groups/${path}/-/epics/${iid}` },
    ]),
  );
}
