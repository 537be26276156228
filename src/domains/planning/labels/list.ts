import { sql } from "kysely";
import type { Static } from "typebox";
import type { GroupSeen, ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Listing, TableSource } from "#db/lists/list-page.ts";
import { order } from "#db/lists/order.ts";
import { containing } from "#lib/like.ts";
import { visibleGroupsBelow } from "#domains/organization/groups/list.ts";
import { ofGroup as projectsOfGroup } from "#domains/organization/projects/list.ts";
import type { GroupLabelFilters, ProjectLabelFilters } from "./params.ts";

type Filters = Static<typeof ProjectLabelFilters>;
type GroupFilters = Static<typeof GroupLabelFilters>;

export const PAGING = { id: "l.id", orders: { name: order("l.name", "text") }, keyset: ["name"] } as const;

/** The labels that a project may use. */
export function listProjectLabels({ id, traversal_ids }: ProjectSeen, filters: Filters): Listing {
  const own = { scan: sql`(select l.* from labels l where l.project_id = ${id})` };
  return listLabels([own, ...(filters.include_ancestor_groups ? traversal_ids.map(labelsOfGroup) : [])], filters);
}

/** The labels that a group may use, and on request those of the groups below it and of projects. */
export function listGroupLabels(group: GroupSeen, actor: Actor | null, filters: GroupFilters): Listing {
  const groups = filters.include_ancestor_groups ? group.traversal_ids : [group.id];
  return listLabels(
    [
      ...groups.map(labelsOfGroup),
      ...(filters.include_descendant_groups ? [labelsBelow(group, actor)] : []),
      ...(filters.only_group_labels ? [] : labelsOfProjects(group, actor, filters.include_descendant_groups)),
    ],
    filters,
  );
}

function listLabels(sources: readonly TableSource[], { search, archived }: Filters): Listing {
  const pattern = search?.trim() ? containing(search.trim()) : undefined;
  return {
    from: "labels as l",
    sources,
    filters: [
      archived !== undefined && sql`l.archived = ${archived}`,
      pattern !== undefined && sql`(l.name ilike ${pattern} or l.description ilike ${pattern})`,
    ],
  };
}

const labelsOfGroup = (id: number): TableSource => ({ scan: sql`(select l.* from labels l where l.group_id = ${id})` });

const labelsBelow = (group: GroupSeen, actor: Actor | null): TableSource => ({
  unordered: true,
  scan: sql`(select l.* from ${visibleGroupsBelow(group, actor)} g
    cross join lateral (select * from labels where group_id = g.id offset 0) l)`,
});

const labelsOfProjects = (group: GroupSeen, actor: Actor | null, include_subgroups: boolean): TableSource[] =>
  projectsOfGroup(group, actor, { include_subgroups, with_shared: false }).map(({ scan }) => ({
    unordered: true,
    scan: sql`(select l.* from ${scan} p cross join lateral (
      select * from labels where project_id = p.id offset 0) l)`,
  }));
