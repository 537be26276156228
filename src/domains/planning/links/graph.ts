import { sql } from "kysely";
import type { Static } from "typebox";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { referencesTo } from "#domains/planning/items/references.ts";
import { issueVisibleTo } from "#domains/planning/items/visibility.ts";
import { itemUrl } from "#domains/conversation/items/item.ts";
import { type IssueRow, visibleIssues } from "#domains/planning/issues/queries.ts";
import { pathsOf } from "#domains/planning/issues/views.ts";
import { ISSUE } from "#domains/planning/issues/kind.ts";
import type { LinkGraph } from "./entity.ts";
import type { LinkedItem, Viewer } from "./kinds.ts";
import type { LinkRow } from "./queries.ts";

/** How far from an issue its graph reaches. */
export const MAX_DEPTH = 5;
const MAX_NODES = 500;
const MAX_EDGES = 2000;
/** An issue may be reached once at each distance, so that this many rows have enough different ones. */
const MAX_ROWS = (MAX_NODES + 1) * (MAX_DEPTH + 1);

/**
 * The issues up to `depth` links away from one, with the links between them. Only issues that the viewer may see are
 * followed, so that nothing in the response depends on the others.
 */
export async function linkGraph(
  db: Db,
  item: LinkedItem,
  depth: number,
  viewer: Viewer,
): Promise<Static<typeof LinkGraph>> {
  const found = await nearestTo(db, viewer.actor, item.id, depth);
  const rows = await visibleIssues(db, viewer.actor, found.slice(0, MAX_NODES));
  const ids = rows.map(({ id }) => id);
  const edges = await linksAmong(db, ids);
  const { projects } = await pathsOf(db, [...new Set(rows.map(({ project_id }) => project_id))]);
  const nodes = rows.map((row) => presentNode(row, projects.get(row.project_id) ?? "", viewer.site));
  return {
    nodes: nodes.toSorted((one, other) => one.id - other.id),
    edges: edges.slice(0, MAX_EDGES),
    truncated: found.length > MAX_NODES || edges.length > MAX_EDGES,
  };
}

/** The ids of visible issues up to `depth` links away, the nearest first, and one more than are shown if there are. */
async function nearestTo(db: Db, actor: Actor | null, issueId: number, depth: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    with recursive near as (
      select ${issueId}::bigint as id, 0 as distance
      union
      select i.id, near.distance + 1
      from near cross join lateral (
          select target_id as id from issue_links where source_id = near.id
          union all select source_id from issue_links where target_id = near.id
        ) linked join issues i on i.id = linked.id join projects p on p.id = i.project_id
      where near.distance < ${depth} and ${issueVisibleTo(actor)}
    )
    select id from (select id, distance from near limit ${sql.lit(MAX_ROWS)}) near
    group by id order by min(distance), id limit ${sql.lit(MAX_NODES + 1)}`.execute(db);
  return rows.map(({ id }) => id);
}

async function linksAmong(db: Db, ids: readonly number[]) {
  const { rows } = await sql<Pick<LinkRow, "id" | "source_id" | "target_id" | "link_type">>`
    select id, source_id, target_id, link_type from issue_links
    where source_id = any(${ids}::bigint[]) and target_id = any(${ids}::bigint[])
    order by id limit ${sql.lit(MAX_EDGES + 1)}`.execute(db);
  return rows;
}

const presentNode = ({ id, iid, project_id, title, state, confidential }: IssueRow, path: string, site: string) => ({
  ...{ id, iid, project_id, title, state, confidential, web_url: itemUrl(ISSUE, site, path, iid) },
  reference: referencesTo(ISSUE, iid, path, path).full,
});
