import { sql } from "kysely";
import type { GroupSeen } from "#access/containers.ts";
import type { Condition } from "#db/lists/order.ts";

/** Whether the row of `projects as p` is in a group or below it. */
export const inSubtree = (group: GroupSeen): Condition => namespaceInSubtree(group, "p.namespace_id");

/** Whether a column holds the id of a group or of one below it. */
export function namespaceInSubtree({ id, traversal_ids }: GroupSeen, column: string): Condition {
  const end = [...traversal_ids.slice(0, -1), id + 1];
  return sql`${sql.ref(column)} in (select s from subtree(${traversal_ids}::bigint[], ${end}::bigint[]) s)`;
}
