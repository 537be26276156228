import { sql } from "kysely";
import type { GroupSeen, ProjectSeen } from "#access/containers.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { memberProjects, openWithFeature } from "#access/visible.ts";
import type { Listing, Rows, Source } from "#db/lists/list-page.ts";
import { type Condition, order, type Order } from "#db/lists/order.ts";
import { isArchived } from "#domains/organization/projects/queries.ts";
import { isOpenOrOwn, issuesSeenIn, issueVisibleIn, issueVisibleTo } from "#domains/planning/items/visibility.ts";
import { ofProject } from "#domains/planning/items/containers.ts";
import { inSubtree } from "#domains/planning/items/subtree.ts";
import { conditionsOf, type Filters, findersOf } from "./conditions.ts";
import { ISSUE } from "./kind.ts";
import { dueDateOfMilestone } from "#domains/planning/milestones/of-items.ts";

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

const milestoneDue = order(dueDateOfMilestone(ISSUE), "date", { ...emptyLast, scannedBy: newest });

/** The orders of every list of issues. No index has the votes, so popularity means newest first. */
export const PAGING = {
  id: "i.id",
  orders: {
    ...INDEXED,
    ...OF_PROJECT,
    priority: labelPriority,
    label_priority: labelPriority,
    milestone_due: milestoneDue,
    popularity: newest,
  },
  keyset: ["created_at", "updated_at"],
  sort: "desc",
  type: "Issue",
} as const;

/** The issues of one project. */
export function listOfProject(project: ProjectSeen, actor: Actor | null, filters: Filters): Listing {
  const isListed = sql<boolean>`i.project_id = ${project.id} and ${issueVisibleIn(project, actor)}`;
  return {
    from: "issues as i",
    sources: [{ scan: sql`(select i.* from issues i where ${isListed})` }],
    ...conditionsOf(actor, filters, ofProject(project)),
    finders: findersOf(actor, filters, ofProject(project)),
    isListed,
  };
}

/** The issues of a group and the groups below it. */
export function listOfGroup(
  group: GroupSeen,
  actor: Actor | null,
  filters: Filters & { readonly non_archived: boolean },
): Listing {
  const inGroup = inSubtree(group);
  const where = filters.non_archived ? sql<boolean>`${inGroup} and not ${isArchived}` : inGroup;
  return wideList(actor, filters, where, visibleIssuesOf(actor, sql`projects`, where));
}

/** The issues with a milestone of the project, all of which are in it. */
export function listOfProjectMilestone(project: ProjectSeen, actor: Actor | null, milestoneId: number): Listing {
  const isListed = sql<boolean>`i.milestone_id = ${milestoneId} and i.project_id = ${project.id}
    and ${issueVisibleIn(project, actor)}`;
  return { from: "issues as i", sources: [{ scan: sql`(select i.* from issues i where ${isListed})` }] };
}

/** The issues with a milestone of the group, as far as the actor may see them, of archived projects too. */
export function listOfGroupMilestone(group: GroupSeen, actor: Actor | null, milestoneId: number): Listing {
  const { isListed } = wideList(actor, {}, inSubtree(group), sql`issues`);
  const hasMilestone = sql`select i.* from issues i where i.milestone_id = ${milestoneId}`;
  const source = { scan: sql`(${hasMilestone})`, lookup: sql`(${hasMilestone} and ${isListed})`, wide: true as const };
  return { from: "issues as i", sources: [source], isListed, orders: BY_CREATION };
}

/** The issues of all projects, or those of the caller. */
export function listEverywhere(actor: Actor, filters: Filters): Listing {
  const { scope = "created_by_me", ...rest } = filters;
  if (scope === "all") return wideList(actor, rest, sql`true`, visibleIssues(actor));
  const list = wideList(actor, rest, sql`true`, sql`issues`);
  const isOwn = scope.startsWith("created")
    ? sql<boolean>`i.author_id = ${actor.user.id}`
    : sql<boolean>`i.id in (select a.issue_id from issue_assignees a where a.user_id = ${actor.user.id})`;
  const scan = sql`(select i.* from issues i where ${isOwn})`;
  const lookup = sql`(select i.* from issues i where ${isOwn} and ${list.isListed})`;
  const own: Source = scope.startsWith("created") ? { scan, lookup, wide: true } : { scan: lookup, unordered: true };
  return { ...list, sources: [own], finders: [] };
}

const BY_CREATION: Readonly<Record<string, Order>> = Object.fromEntries(
  Object.entries(OF_PROJECT).map(([name, given]) => [name, { ...given, scannedBy: newest }]),
);

/**
 * Issues of many projects. A scan walks all issues and looks at the project of each; the lookup begins with the
 * projects. There are indexes for the times only: beyond the candidates every other order is newest first.
 */
function wideList(actor: Actor | null, asked: Filters, where: Condition, lookup: Rows) {
  const isListed = sql<boolean>`exists (
    select from projects p where p.id = i.project_id and ${where} and ${issueVisibleTo(actor)})`;
  const { filters, costly } = conditionsOf(actor, asked);
  return {
    from: "issues as i",
    sources: [{ scan: sql`issues`, wide: true, lookup }],
    // No index has the columns of the filters for many projects.
    costly: [...filters, ...costly],
    finders: findersOf(actor, asked),
    isListed,
    orders: BY_CREATION,
  } satisfies Listing;
}

/** The issues of some projects that the actor may see. The offset forces a lookup for each project. */
function visibleIssuesOf(actor: Actor | null, projects: Rows, where: Condition): Rows {
  const { issues, confidential } = issuesSeenIn(actor);
  return sql`(select i.* from (
      select p.id, ${confidential} as shows_confidential from ${projects} p where ${where} and ${issues} offset 0) p
    cross join lateral (
      select i.* from issues i where i.project_id = p.id and (p.shows_confidential or ${isOpenOrOwn(actor)}) offset 0) i)`;
}

/** The issues of the projects whose issues everybody may use, and those of the caller's own projects. */
function visibleIssues(actor: Actor): Rows {
  const open = openWithFeature(actor, "issues");
  const openIssues = sql`select i.* from projects p join issues i on i.project_id = p.id
    where ${isAdministrator(actor) ? sql`true` : open} and ${issueVisibleTo(actor)}`;
  if (isAdministrator(actor)) return sql`(${openIssues})`;
  const own = memberProjects(actor.user.id).map(
    ({ scan }) => sql`select i.* from ${visibleIssuesOf(actor, scan, sql`not (${open})`)} i`,
  );
  return sql`(${sql.join([openIssues, ...own], sql` union all `)})`;
}
