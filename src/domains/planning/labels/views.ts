import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import { groupVisibleTo } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import { type Answer, markTruncated } from "#domains/conversation/items/answer.ts";
import { idOfRow, type ItemKind, rowsWithContainer } from "#domains/conversation/items/item.ts";
import { found } from "#domains/planning/items/filters.ts";
import { MAX_LABELS } from "#domains/planning/items/params.ts";
import { type LabelDetailsRow, presentLabelDetails } from "./entity.ts";

/** What the descriptions of labels in one response have at most; the same label may be on every item of a page. */
const MAX_DESCRIPTIONS_BYTES = 1024 ** 2;
/** The JSON around the texts of a label. */
const AROUND_TEXTS_BYTES = 200;
/** A description is sent as it is and escaped. */
const DESCRIPTION_FACTOR = 4;

interface LabelOfItem extends LabelDetailsRow {
  readonly item_id: number;
  /** Of the descriptions of all rows. */
  readonly bytes: number;
}

interface Viewer extends Answer {
  readonly actor: Actor | null;
}

/** The names of the labels of some items, sorted. */
export async function labelNamesOf(
  db: Db,
  kind: ItemKind,
  ids: readonly number[],
  viewer: Viewer,
): Promise<(id: number) => string[]> {
  const labels = await labelsOf(db, kind, ids, false, viewer);
  return (id) => labels(id).map(({ name }) => name);
}

/** Presents items of a kind with more of each label than its name, if that is wanted. */
export async function withLabelDetails<View extends { readonly id: number; readonly labels: string[] }>(
  db: Db,
  kind: ItemKind,
  views: readonly View[],
  viewer: Viewer,
  isWanted = false,
) {
  if (!isWanted) return [...views];
  const ids = views.map(({ id }) => id);
  const labels = await labelsOf(db, kind, ids, true, viewer);
  return views.map((view) => ({ ...view, labels: labels(view.id).map(presentLabelDetails) }));
}

/**
 * The labels of some items, each with at most as many as an item can have, sorted by name. A label of a group that the
 * item is no longer in is for those who may see that group.
 */
async function labelsOf(
  db: Db,
  kind: ItemKind,
  ids: readonly number[],
  withDescription: boolean,
  viewer: Viewer,
): Promise<(id: number) => LabelOfItem[]> {
  const description = withDescription ? sql`l.description` : sql`null::text`;
  const { rows } = await sql<LabelOfItem>`
    select item_id, id, name, color, bytes,
      case when bytes <= ${sql.lit(MAX_DESCRIPTIONS_BYTES)} then description end as description
    from (
      select item.id as item_id, l.id, l.name, l.color, ${description} as description,
        coalesce(sum(octet_length(${description})) over (), 0)::bigint as bytes
      from unnest(${ids}::bigint[]) item (id)
        cross join lateral (
          select label_id from label_links where ${sql.ref(kind.column)} = item.id limit ${sql.lit(MAX_LABELS)}
        ) link
        -- Without these offsets PostgreSQL reads all labels and all namespaces to join a few.
        cross join lateral (select * from labels where id = link.label_id offset 0) l
        cross join lateral (
          select n.traversal_ids from ${rowsWithContainer(kind)} where ${idOfRow(kind)} = item.id offset 0
        ) container
      where l.project_id is not null or l.group_id = any(container.traversal_ids)
        or ${found(sql`select from namespaces n where n.id = l.group_id and ${groupVisibleTo(viewer.actor)}`)}
    ) labelled`.execute(db);
  const bytes = rows[0]?.bytes ?? 0;
  if (bytes > MAX_DESCRIPTIONS_BYTES) markTruncated(viewer);
  const names = rows.reduce((sum, { name }) => sum + name.length, 0);
  viewer.reserveMemory?.(
    names + rows.length * AROUND_TEXTS_BYTES + Math.min(bytes, MAX_DESCRIPTIONS_BYTES) * DESCRIPTION_FACTOR,
  );
  const sorted = rows.toSorted((one, other) =>
    one.name === other.name ? one.id - other.id : one.name < other.name ? -1 : 1,
  );
  const byItem = Map.groupBy(sorted, ({ item_id }) => item_id);
  return (id) => byItem.get(id) ?? [];
}
