import { sql } from "kysely";
import type { Static } from "typebox";
import type { GroupSeen, ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import { visibleTo } from "#access/visible.ts";
import type { Filter, Listing, TableSource } from "#db/lists/list-page.ts";
import { order } from "#db/lists/order.ts";
import { containing } from "#lib/like.ts";
import { visibleGroupsBelow } from "#domains/organization/groups/list.ts";
import { ofGroup as projectsOfGroup } from "#domains/organization/projects/list.ts";
import type { GroupMilestoneFilters, ProjectMilestoneFilters } from "./params.ts";

type Filters = Static<typeof ProjectMilestoneFilters>;
type GroupFilters = Static<typeof GroupMilestoneFilters>;

/** The next due date first, and those without one last. */
export const PAGING = {
  id: "m.id",
  orders: { due_date: order("m.due_date", "date", { nulls: "at the end" }) },
  type: "Milestone",
} as const;

/** The milestones of a project, and on request those of the groups above. */
export function listProjectMilestones({ id, traversal_ids }: ProjectSeen, filters: Filters): Listing {
  const own = { scan: sql`(select m.* from milestones m where m.project_id = ${id})` };
  return listMilestones([own, ...(includesAncestors(filters) ? traversal_ids.map(milestonesOfGroup) : [])], filters);
}

/** The milestones of a group, and on request those of the groups above, or of what is below. */
export function listGroupMilestones(group: GroupSeen, actor: Actor | null, filters: GroupFilters): Listing {
  const groups = includesAncestors(filters) ? group.traversal_ids : [group.id];
  return listMilestones(
    [...groups.map(milestonesOfGroup), ...(filters.include_descendants ? milestonesBelow(group, actor) : [])],
    filters,
  );
}

const includesAncestors = ({ include_ancestors, include_parent_milestones }: Filters): boolean =>
  (include_ancestors ?? include_parent_milestones) === true;

const milestonesOfGroup = (id: number): TableSource => ({
  scan: sql`(select m.* from milestones m where m.group_id = ${id})`,
});

const milestonesBelow = (group: GroupSeen, actor: Actor | null): TableSource[] => [
  {
    unordered: true,
    scan: sql`(select m.* from ${visibleGroupsBelow(group, actor)} g
      cross join lateral (select * from milestones where group_id = g.id offset 0) m)`,
  },
  ...projectsOfGroup(group, actor, { include_subgroups: true, with_shared: false }).map(({ scan }) => ({
    unordered: true as const,
    scan: sql`(select m.* from (select p.id from ${scan} p where ${visibleTo(actor, { feature: "issues" })} offset 0) p
      cross join lateral (select * from milestones where project_id = p.id offset 0) m)`,
  })),
];

function listMilestones(sources: readonly TableSource[], filters: Filters): Listing {
  const { state, title, search, iids, updated_before, updated_after, containing_date } = filters;
  const pattern = search?.trim() ? containing(search.trim()) : undefined;
  const conditions: Filter[] = [
    state !== undefined && state !== "all" && sql`m.state = ${sql.lit(state)}`,
    title !== undefined && sql`m.title = ${title}`,
    // A number means little among those of several containers.
    iids && !includesAncestors(filters) && sql`m.iid = any(${iids}::integer[])`,
    pattern !== undefined && sql`(m.title ilike ${pattern} or m.description ilike ${pattern})`,
    updated_before && sql`m.updated_at <= ${updated_before}`,
    updated_after && sql`m.updated_at >= ${updated_after}`,
    containing_date && sql`${dayOf(containing_date)} between m.start_date and m.due_date`,
  ];
  return { from: "milestones as m", sources, filters: conditions };
}

const dayOf = (moment: string) => sql`${moment.slice(0, "2000-01-01".length)}::date`;
