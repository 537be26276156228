import { sql } from "kysely";
import type { Static } from "typebox";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { issueVisibleTo } from "#domains/planning/items/visibility.ts";
import type { Issue } from "#domains/planning/issues/entity.ts";
import type { LinkGraph } from "./entity.ts";
import { ISSUES, type LinkedItem, type Viewer } from "./kinds.ts";
import type { LinkRow } from "./queries.ts";

/** How far from an issue its graph reaches. */
export const MAX_DEPTH = 5;
const MAX_NODES = 500;
const MAX_EDGES = 2000;

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
  const found = new Set([item.id]);
  let frontier: readonly number[] = [item.id];
  for (let distance = 1; distance <= depth && frontier.length > 0 && found.size <= MAX_NODES; distance++) {
    frontier = await neighboursOf(db, viewer.actor, frontier, [...found]);
    for (const id of frontier) found.add(id);
  }
  const rows = await ISSUES.visible(db, viewer.actor, [...found].slice(0, MAX_NODES));
  const ids = rows.map(({ id }) => id);
  const edges = await linksAmong(db, ids);
  const nodes = (await ISSUES.views(db, rows, viewer)).map(presentNode);
  return {
    nodes: nodes.toSorted((one, other) => one.id - other.id),
    edges: edges.slice(0, MAX_EDGES),
    truncated: found.size > MAX_NODES || edges.length > MAX_EDGES,
  };
}

/** The visible issues that are linked to some issues, without those that are already found. */
async function neighboursOf(db: Db, actor: Actor | null, ids: readonly number[], found: readonly number[]) {
  const { rows } = await sql<{ id: number }>`
    select distinct i.id from (
      select target_id as id from issue_links where source_id = any(${ids}::bigint[])
      union all select source_id from issue_links where target_id = any(${ids}::bigint[])
    ) linked join issues i on i.id = linked.id join projects p on p.id = i.project_id
    where not (i.id = any(${found}::bigint[])) and ${issueVisibleTo(actor)}
    order by i.id limit ${sql.lit(MAX_NODES)}`.execute(db);
  return rows.map(({ id }) => id);
}

async function linksAmong(db: Db, ids: readonly number[]) {
  const { rows } = await sql<Pick<LinkRow, "id" | "source_id" | "target_id" | "link_type">>`
    select id, source_id, target_id, link_type from issue_links
    where source_id = any(${ids}::bigint[]) and target_id = any(${ids}::bigint[])
    order by id limit ${sql.lit(MAX_EDGES + 1)}`.execute(db);
  return rows;
}

const presentNode = ({ id, iid, project_id, title, state, confidential, web_url, references }: Issue) => ({
  ...{ id, iid, project_id, title, state, confidential, web_url },
  reference: references.full,
});
