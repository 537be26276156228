import { type RawBuilder, sql } from "kysely";
import type { GroupSeen, ProjectSeen } from "#access/containers.ts";

/** Where labels and milestones come from: a project or a group, with the groups above it. */
export type LabelContainer = { readonly traversal_ids: readonly number[] } & (
  | { readonly project_id: number }
  | { readonly group_id: number }
);

/** The container of a project's labels and milestones; without inheritance it has only the project's own. */
export const ofProject = (
  { id, traversal_ids }: Pick<ProjectSeen, "id" | "traversal_ids">,
  inherits = true,
): LabelContainer => ({
  project_id: id,
  traversal_ids: inherits ? traversal_ids : [],
});

/** The same of a group. */
export const ofGroup = (
  { id, traversal_ids }: Pick<GroupSeen, "id" | "traversal_ids">,
  inherits = true,
): LabelContainer => ({
  group_id: id,
  traversal_ids: inherits ? traversal_ids : [id],
});

/** Whether a container may use the row of `labels as l` or `milestones as m`: it is its own, or that of a group above. */
export function isAvailableIn(container: LabelContainer, alias: "l" | "m" = "l"): RawBuilder<boolean> {
  const inGroups = sql<boolean>`${sql.ref(`${alias}.group_id`)} = any(${container.traversal_ids}::bigint[])`;
  return "project_id" in container
    ? sql`(${sql.ref(`${alias}.project_id`)} = ${container.project_id} or ${inGroups})`
    : inGroups;
}

/** The order in which those of one name are preferred: a project's own, then that of the nearest group. */
export const nearestFirst = (container: LabelContainer, alias: "l" | "m" = "l"): RawBuilder<unknown> =>
  sql`array_position(${container.traversal_ids}::bigint[], ${sql.ref(`${alias}.group_id`)}) desc nulls first`;
