import { sql } from "kysely";
import type { Static } from "typebox";
import type { GroupSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import type { Listing } from "#db/lists/list-page.ts";
import { found } from "#domains/planning/items/filters.ts";
import { epicVisibleTo } from "#domains/planning/items/visibility.ts";
import type { EpicLinkFilters } from "./params.ts";

export const epicLinks = (db: Db) =>
  db
    .selectFrom("epic_links as l")
    .select(["l.id", "l.source_id", "l.target_id", "l.link_type", "l.created_at", "l.updated_at"]);

/** The links of the epics of a group and its subgroups, of which the actor may see both ends. */
export function listEpicLinks(
  { id, traversal_ids }: GroupSeen,
  actor: Actor | null,
  { created_after, created_before, updated_after, updated_before }: Static<typeof EpicLinkFilters>,
): Listing {
  const end = [...traversal_ids.slice(0, -1), id + 1];
  const inSubtree = sql`n.traversal_ids >= ${traversal_ids}::bigint[] and n.traversal_ids < ${end}::bigint[]`;
  const isListed = sql<boolean>`(
    select count(*) = 2 and bool_or(${inSubtree}) from epics e join namespaces n on n.id = e.group_id
    where e.id in (l.source_id, l.target_id) and ${epicVisibleTo(actor)})`;
  const visible = sql`select e.id from namespaces n join epics e on e.group_id = n.id where ${epicVisibleTo(actor)}`;
  const own = sql`(${visible} and ${inSubtree}) own`;
  // A link within the group is found by its source.
  const lookup = sql`(
    select l.* from ${own} join epic_links l on l.source_id = own.id
    where ${found(sql`${visible} and e.id = l.target_id`)}
    union all
    select l.* from ${own} join epic_links l on l.target_id = own.id
    where ${found(sql`${visible} and e.id = l.source_id and not (${inSubtree})`)})`;
  return {
    from: "epic_links as l",
    sources: [{ scan: sql`epic_links`, wide: true, lookup }],
    isListed,
    filters: [
      created_after !== undefined && sql<boolean>`l.created_at >= ${created_after}`,
      created_before !== undefined && sql<boolean>`l.created_at <= ${created_before}`,
      updated_after !== undefined && sql<boolean>`l.updated_at >= ${updated_after}`,
      updated_before !== undefined && sql<boolean>`l.updated_at <= ${updated_before}`,
    ],
  };
}
