import { sql } from "kysely";
import type { Static } from "typebox";
import type { GroupSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import type { Listing } from "#db/lists/list-page.ts";
import { EPICS } from "./kinds.ts";
import type { EpicLinkFilters } from "./params.ts";

export const epicLinks = (db: Db) =>
  db
    .selectFrom("epic_links as l")
    .select(["l.id", "l.source_id", "l.target_id", "l.link_type", "l.created_at", "l.updated_at"]);

/** The links of the epics of a group and its subgroups, of which the actor may see both ends. */
export function listEpicLinks(
  { id }: GroupSeen,
  actor: Actor | null,
  { created_after, created_before, updated_after, updated_before }: Static<typeof EpicLinkFilters>,
): Listing {
  const inSubtree = sql`n.traversal_ids >= g.traversal_ids and n.traversal_ids < g.subtree_end`;
  const linksAt = (end: "source_id" | "target_id") => sql`
    select k.id from namespaces g join namespaces n on ${inSubtree} join epics e on e.group_id = n.id
      join epic_links k on k.${sql.ref(end)} = e.id
    where g.id = ${id}`;
  const isIn = sql<boolean>`exists (
    select from epics e join namespaces n on n.id = e.group_id join namespaces g on ${inSubtree}
    where e.id in (l.source_id, l.target_id) and g.id = ${id})`;
  return {
    from: "epic_links as l",
    sources: [
      {
        scan: sql`epic_links`,
        lookup: sql`(select * from epic_links where id in (${linksAt("source_id")} union ${linksAt("target_id")}))`,
      },
    ],
    filters: [
      isIn,
      EPICS.isVisible("l.source_id", actor),
      EPICS.isVisible("l.target_id", actor),
      created_after !== undefined && sql<boolean>`l.created_at >= ${created_after}`,
      created_before !== undefined && sql<boolean>`l.created_at <= ${created_before}`,
      updated_after !== undefined && sql<boolean>`l.updated_at >= ${updated_after}`,
      updated_before !== undefined && sql<boolean>`l.updated_at <= ${updated_before}`,
    ],
  };
}
