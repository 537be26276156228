import { sql } from "kysely";
import type { Tx } from "#db/database.ts";
import { conflict, Refusal, unprocessable } from "#lib/refusal.ts";
import { lockBlocking, refuseCircle } from "./circles.ts";
import type { LinkedItem, LinkKind } from "./kinds.ts";
import { COLUMNS, type LinkRow, type LinkType, MAX_LINKS, noLink } from "./queries.ts";

/** A link that is told from the item in the path. */
export interface NewLink<Row> {
  readonly item: Row;
  readonly other: Row;
  readonly type: LinkType;
}

/** Links two items that the actor may see and link. */
export async function createLink<Row extends LinkedItem>(
  tx: Tx,
  kind: LinkKind<Row>,
  { item, other, type }: NewLink<Row>,
  mayCircle: boolean,
): Promise<LinkRow> {
  const refuse = (reason: string) => unprocessable(`${kind.item.sign}${other.iid} cannot be added: ${reason}`);
  if (item.id === other.id) throw refuse("cannot be related to itself");
  if (kind.isFamily(item, other)) throw refuse("it is the parent or a child");
  const [source, target] = type === "is_blocked_by" ? [other, item] : [item, other];
  const isChecked = type !== "relates_to" && !mayCircle;
  if (isChecked) await lockBlocking(tx, kind);
  await lockEnds(tx, kind, source.id, target.id);
  await refuseMore(tx, kind, source.id, target.id);
  if (isChecked) await refuseCircle(tx, kind, source.id, target.id);
  const { rows } = await sql<LinkRow>`
    insert into ${sql.table(kind.links)} (source_id, target_id, link_type)
    values (${source.id}, ${target.id}, ${type === "relates_to" ? type : "blocks"}) returning ${COLUMNS}`.execute(tx);
  return rows[0] ?? noLink();
}

/** Locks both ends, in the order of their ids, so that others who link them wait. */
async function lockEnds(tx: Tx, { item }: Pick<LinkKind, "item">, ...ids: number[]) {
  const { rows } = await sql`
    select id from ${sql.table(item.table)} where id = any(${ids}::bigint[]) order by id for no key update`.execute(tx);
  if (rows.length < ids.length) throw new Refusal("missing", "404 Not found");
}

/** Refuses a second link between two items, and one more than an item can have. */
async function refuseMore(
  tx: Tx,
  { links, item }: Pick<LinkKind, "links" | "item">,
  sourceId: number,
  targetId: number,
) {
  const both = [sourceId, targetId];
  const { rows } = await sql<{ linked: boolean; most: number }>`
    select coalesce(bool_or(end_id = ${sourceId} and other_id = ${targetId}), false) as linked,
      greatest(count(*) filter (where end_id = ${sourceId}), count(*) filter (where end_id = ${targetId})) as most
    from (
      select source_id as end_id, target_id as other_id from ${sql.table(links)} where source_id = any(${both}::bigint[])
      union all
      select target_id, source_id from ${sql.table(links)} where target_id = any(${both}::bigint[])
    ) ends`.execute(tx);
  const { linked = false, most = 0 } = rows[0] ?? {};
  if (linked) throw conflict(`${item.name}(s) already assigned`);
  if (most >= MAX_LINKS) throw unprocessable(`An ${item.word} has at most ${MAX_LINKS} links`);
}

/** Deletes a link; another request may have deleted it meanwhile. */
export async function removeLink(tx: Tx, { links }: Pick<LinkKind, "links">, { id }: LinkRow) {
  const { numAffectedRows = 0n } = await sql`delete from ${sql.table(links)} where id = ${id}`.execute(tx);
  if (numAffectedRows === 0n) noLink();
}
