import { sql } from "kysely";
import type { GroupSeen, ProjectSeen } from "#access/containers.ts";
import { type Actor, isAdministrator } from "#access/principal.ts";
import { memberProjects, openWithFeature, visibleTo } from "#access/visible.ts";
import type { Listing, Rows, Source } from "#db/lists/list-page.ts";
import { type Condition, order } from "#db/lists/order.ts";
import { isArchived } from "#domains/organization/projects/queries.ts";
import { ofProject } from "#domains/planning/items/containers.ts";
import { inSubtree } from "#domains/planning/items/subtree.ts";
import { conditionsOf, findersOf } from "./conditions.ts";
import type { MergeRequestFilters as Filters } from "./filter-params.ts";

const newest = order("mr.created_at", "timestamptz");
const title = order("mr.title", "text");
const feature = "merge_requests";

/** The orders of every list of merge requests. */
export const PAGING = {
  id: "mr.id",
  orders: { created_at: newest, updated_at: order("mr.updated_at", "timestamptz"), title },
  keyset: ["created_at", "updated_at"],
  sort: "desc",
  type: "MergeRequest",
} as const;

/** The merge requests of one project. */
export function listOfProject(project: ProjectSeen, actor: Actor | null, filters: Filters): Listing {
  const isListed = sql<boolean>`mr.project_id = ${project.id}`;
  return {
    from: "merge_requests as mr",
    sources: [{ scan: sql`(select mr.* from merge_requests mr where ${isListed})` }],
    ...conditionsOf(actor, filters, ofProject(project)),
    finders: findersOf(actor, filters, ofProject(project)),
    isListed,
  };
}

/** The merge requests of a group and the groups below it. */
export function listOfGroup(
  group: GroupSeen,
  actor: Actor | null,
  filters: Filters & { readonly non_archived: boolean },
): Listing {
  const inGroup = inSubtree(group);
  const where = filters.non_archived ? sql<boolean>`${inGroup} and not ${isArchived}` : inGroup;
  return wideList(actor, filters, where, ofProjects(sql`projects`, sql`${where} and ${visibleTo(actor, { feature })}`));
}

/** The merge requests of all projects, or those of the caller. */
export function listEverywhere(actor: Actor, filters: Filters): Listing {
  const { scope = "created_by_me", ...rest } = filters;
  if (scope === "all") return wideList(actor, rest, sql`true`, visibleEverywhere(actor));
  const list = wideList(actor, rest, sql`true`, sql`merge_requests`);
  const people = scope.startsWith("assigned") ? "merge_request_assignees" : "merge_request_reviewers";
  const isCreator = scope.startsWith("created");
  const isOwn = isCreator
    ? sql<boolean>`mr.author_id = ${actor.user.id}`
    : sql<boolean>`mr.id in (select a.merge_request_id from ${sql.table(people)} a where a.user_id = ${actor.user.id})`;
  const scan = sql`(select mr.* from merge_requests mr where ${isOwn})`;
  const lookup = sql`(select mr.* from merge_requests mr where ${isOwn} and ${list.isListed})`;
  const own: Source = isCreator ? { scan, lookup, wide: true } : { scan: lookup, unordered: true };
  return { ...list, sources: [own], finders: [] };
}

/**
 * Merge requests of many projects. A scan walks all of them and looks at the project of each; the lookup begins with the
 * projects. No index has the titles of many projects, so beyond the candidates these are in the order of creation.
 */
function wideList(actor: Actor | null, asked: Filters, where: Condition, lookup: Rows) {
  const isListed = sql<boolean>`exists (
    select from projects p where p.id = mr.project_id and ${where} and ${visibleTo(actor, { feature })})`;
  const { filters, costly } = conditionsOf(actor, asked);
  return {
    from: "merge_requests as mr",
    sources: [{ scan: sql`merge_requests`, wide: true, lookup }],
    costly: [...filters, ...costly],
    finders: findersOf(actor, asked),
    isListed,
    orders: { title: { ...title, scannedBy: newest } },
  } satisfies Listing;
}

/** The merge requests of some projects. The offsets force a lookup for each project. */
const ofProjects = (projects: Rows, where: Condition): Rows => sql`(
  select mr.* from (select p.id from ${projects} p where ${where} offset 0) p
  cross join lateral (select mr.* from merge_requests mr where mr.project_id = p.id offset 0) mr)`;

/** Those of the projects whose merge requests everybody may use, and those of the caller's own projects. */
function visibleEverywhere(actor: Actor): Rows {
  const isVisible = visibleTo(actor, { feature });
  const where = isAdministrator(actor) ? isVisible : openWithFeature(actor, feature);
  const openOnes = sql`select mr.* from projects p join merge_requests mr on mr.project_id = p.id where ${where}`;
  if (isAdministrator(actor)) return sql`(${openOnes})`;
  const own = memberProjects(actor.user.id).map(
    ({ scan }) => sql`select mr.* from ${ofProjects(scan, sql`not (${where}) and ${isVisible}`)} mr`,
  );
  return sql`(${sql.join([openOnes, ...own], sql` union all `)})`;
}
