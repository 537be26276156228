import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import { Refusal } from "#lib/refusal.ts";
import { isVisibleItem } from "#domains/conversation/items/item.ts";
import type { LinkKind, LinkedItem } from "./kinds.ts";

export const LINK_TYPES = ["relates_to", "blocks", "is_blocked_by"] as const;
export type LinkType = (typeof LINK_TYPES)[number];

/** A link as it is stored: once, and `blocks` from the item that blocks. */
export interface LinkRow {
  readonly id: number;
  readonly source_id: number;
  readonly target_id: number;
  readonly link_type: Exclude<LinkType, "is_blocked_by">;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The most links that an item can have. */
export const MAX_LINKS = 100;

/** Clients of this family read the links of an item as one page. */
export const ALL_LINKS = { id: "l.id", perPage: MAX_LINKS };

export const COLUMNS = sql`id, source_id, target_id, link_type, created_at, updated_at`;

/** How a link reads from one of its ends. */
export function seenFrom({ id }: LinkedItem, link: LinkRow): { readonly otherId: number; readonly type: LinkType } {
  if (link.source_id === id) return { otherId: link.target_id, type: link.link_type };
  return { otherId: link.source_id, type: link.link_type === "blocks" ? "is_blocked_by" : link.link_type };
}

/** The links of an item whose other end an actor may see. */
export const linksOf = (db: Db, kind: Pick<LinkKind, "item" | "links">, { id }: LinkedItem, actor: Actor | null) => {
  const links = sql.table(kind.links);
  const both = sql<LinkRow & { other_id: number }>`(
    select ${COLUMNS}, target_id as other_id from ${links} where source_id = ${id}
    union all select ${COLUMNS}, source_id from ${links} where target_id = ${id})`;
  return db
    .selectFrom(both.as("l"))
    .select(["l.id", "l.source_id", "l.target_id", "l.link_type", "l.created_at", "l.updated_at"])
    .where(isVisibleItem(kind.item, "l.other_id", actor));
};

/** A link with the item at its other end. */
export interface Linked<Row> {
  readonly link: LinkRow;
  readonly other: Row;
}

/** Finds a link of an item; one whose other end the actor may not see is answered like a missing one. */
export async function requireLink<Row extends LinkedItem>(
  db: Db,
  kind: LinkKind<Row>,
  item: LinkedItem,
  actor: Actor | null,
  id: number,
): Promise<Linked<Row>> {
  const found = await linksOf(db, kind, item, actor).where("l.id", "=", id).execute();
  const [linked] = await withOthers(db, kind, item, actor, found);
  return linked ?? noLink();
}

/** Reads the other ends of some links of an item. */
export async function withOthers<Row extends LinkedItem>(
  db: Db,
  kind: LinkKind<Row>,
  item: LinkedItem,
  actor: Actor | null,
  links: readonly LinkRow[],
): Promise<Linked<Row>[]> {
  const ids = links.map((link) => seenFrom(item, link).otherId);
  const others = new Map((await kind.visible(db, actor, ids)).map((row) => [row.id, row]));
  return links.flatMap((link) => {
    const other = others.get(seenFrom(item, link).otherId);
    return other ? [{ link, other }] : [];
  });
}

export const noLink = (): never => {
  throw new Refusal("missing", "404 Not found");
};
