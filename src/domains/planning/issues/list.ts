import { sql } from "kysely";
import type { GroupSeen, ProjectSeen } from "#access/containers.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { memberProjects, openWithFeature } from "#access/visible.ts";
import type { Listing, Rows, Source } from "#db/lists/list-page.ts";
import { type Condition, order, type Order } from "#db/lists/order.ts";
import { isArchived } from "#domains/organization/projects/queries.ts";
import { issueVisibleIn, issueVisibleTo } from "#domains/planning/items/visibility.ts";
import { conditionsOf, type Filters } from "./conditions.ts";

const newest = order("i.created_at", "timestamptz");
const emptyLast = { nulls: "at the end" } as const;

/** The highest priority that the project gives to a label of the issue. */
const labelPriority = order(
  sql`(select min(r.priority) from label_links t
    join label_priorities r on r.project_id = i.project_id and r.label_id = t.label_id where t.issue_id = i.id)`,
  "integer",
  { ...emptyLast, scannedBy: newest },
);

const INDEXED = { created_at: newest, updated_at: order("i.updated_at", "timestamptz") };
/** The orders that have an index in a project only. */
const OF_PROJECT = {
  due_date: order("i.due_date", "date", emptyLast),
  weight: order("i.weight", "integer", emptyLast),
  relative_position: order("i.relative_position", "bigint", emptyLast),
  title: order("i.title", "text"),
};

/** The orders of every list of issues. No issue has a milestone or votes yet, so these two mean newest first. */
export const PAGING = {
  id: "i.id",
  orders: {
    ...INDEXED,
    ...OF_PROJECT,
    priority: labelPriority,
    label_priority: labelPriority,
    milestone_due: newest,
    popularity: newest,
  },
  keyset: ["created_at", "updated_at"],
  sort: "desc",
  type: "Issue",
} as const;

/** The issues of one project. */
export const listOfProject = (project: ProjectSeen, actor: Actor | null, filters: Filters): Listing => ({
  from: "issues as i",
  sources: [
    {
      scan: sql`(select i.* from issues i where i.project_id = ${project.id} and ${issueVisibleIn(project, actor)})`,
    },
  ],
  filters: conditionsOf(actor, filters),
});

/** The issues of a group and the groups below it. */
export function listOfGroup(
  { id, traversal_ids }: GroupSeen,
  actor: Actor | null,
  filters: Filters & { readonly non_archived: boolean },
): Listing {
  const end = [...traversal_ids.slice(0, -1), id + 1];
  const inGroup = sql<boolean>`p.namespace_id in (
    select s from subtree(${traversal_ids}::bigint[], ${end}::bigint[]) s)`;
  const live = filters.non_archived ? sql<boolean>`not ${isArchived}` : sql<boolean>`true`;
  return wideList(
    actor,
    filters,
    sql`${inGroup} and ${live}`,
    issuesOf(sql`select p.id from projects p where ${inGroup}`),
  );
}

/** The issues of all projects, or those of the caller. */
export function listEverywhere(actor: Actor, filters: Filters): Listing {
  const { scope = "created_by_me", ...rest } = filters;
  if (scope === "all") return wideList(actor, rest, sql`true`, visibleIssues(actor));
  const own: Source = scope.startsWith("created")
    ? { scan: sql`(select i.* from issues i where i.author_id = ${actor.user.id})` }
    : {
        scan: issuesWith(sql`select a.issue_id from issue_assignees a where a.user_id = ${actor.user.id}`),
        unordered: true,
      };
  return { ...wideList(actor, rest, sql`true`), sources: [own] };
}

const BY_CREATION: Readonly<Record<string, Order>> = Object.fromEntries(
  Object.entries(OF_PROJECT).map(([name, given]) => [name, { ...given, scannedBy: newest }]),
);

/**
 * Issues of many projects. A scan walks all issues and looks at the project of each; the lookup begins with the
 * projects. There are indexes for the times only: beyond the candidates every other order is newest first.
 */
function wideList(actor: Actor | null, filters: Filters, where: Condition, lookup?: Rows): Listing {
  const isListed = sql<boolean>`exists (
    select from projects p where p.id = i.project_id and ${where} and ${issueVisibleTo(actor)})`;
  return {
    from: "issues as i",
    sources: [{ scan: sql`issues`, ...(lookup && { lookup }) }],
    filters: [isListed, ...conditionsOf(actor, filters)],
    orders: BY_CREATION,
  };
}

// The offset forces a lookup for each project: PostgreSQL would otherwise read all issues.
const issuesOf = (projects: Rows): Rows => sql`(
  select i.* from (${projects}) p cross join lateral (select * from issues where project_id = p.id offset 0) i)`;

const issuesWith = (ids: Rows): Rows => sql`(
  select i.* from (${ids}) ids cross join lateral (select * from issues where id = ids.issue_id offset 0) i)`;

/** The issues of the projects whose issues everybody may use, and those of the caller's own projects. */
function visibleIssues(actor: Actor): Rows | undefined {
  if (isAdministrator(actor)) return undefined;
  const open = openWithFeature(actor, "issues");
  const openIssues = sql`select i.* from projects p join issues i on i.project_id = p.id where ${open}`;
  const own = memberProjects(actor.user.id).map(
    ({ scan }) => sql`select i.* from ${issuesOf(sql`select p.id from ${scan} p where not (${open})`)} i`,
  );
  return sql`(${sql.join([openIssues, ...own], sql` union all `)})`;
}
