import { sql } from "kysely";
import type { Actor } from "#access/principal.ts";
import { groupVisibleTo } from "#access/visible.ts";
import type { Db } from "#db/database.ts";
import { type Answer, markTruncated } from "#domains/planning/items/answer.ts";
import { idOfRow, type ItemColumn, rowsWithContainer } from "#domains/planning/items/item.ts";
import { MAX_LABELS } from "#domains/planning/items/params.ts";
import { type LabelDetailsRow, presentLabelDetails } from "./entity.ts";

/** What the descriptions of labels in one response have at most; the same label may be on every item of a page. */
const MAX_DESCRIPTIONS_BYTES = 1024 ** 2;
/** The JSON around the texts of a label. */
const AROUND_TEXTS_BYTES = 200;
/** A description is sent as it is and escaped. */
const DESCRIPTION_FACTOR = 4;

type LabelView = string | ReturnType<typeof presentLabelDetails>;

interface LabelOfItem extends LabelDetailsRow {
  readonly item_id: number;
  /** Of the descriptions of all rows. */
  readonly bytes: number;
}

/**
 * The labels of some items, each with at most as many as an item can have, sorted by name: the names, or more of each. A
 * label of a group that the item is no longer in is for those who may see that group.
 */
export async function labelsOfItems(
  db: Db,
  column: ItemColumn,
  ids: readonly number[],
  withDetails: boolean,
  viewer: Answer & { readonly actor: Actor | null },
): Promise<(id: number) => LabelView[]> {
  const description = withDetails ? sql`l.description` : sql`null::text`;
  const { rows } = await sql<LabelOfItem>`
    select item_id, id, name, color, bytes,
      case when bytes <= ${sql.lit(MAX_DESCRIPTIONS_BYTES)} then description end as description
    from (
      select item.id as item_id, l.id, l.name, l.color, ${description} as description,
        coalesce(sum(octet_length(${description})) over (), 0)::bigint as bytes
      from unnest(${ids}::bigint[]) item (id)
        cross join lateral (
          select label_id from label_links where ${sql.ref(column)} = item.id limit ${sql.lit(MAX_LABELS)}
        ) link
        join labels l on l.id = link.label_id
        join (${rowsWithContainer(column)}) on ${idOfRow(column)} = item.id
      where l.project_id is not null or l.group_id = any(n.traversal_ids)
        or exists (select from namespaces n where n.id = l.group_id and ${groupVisibleTo(viewer.actor)})
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
  const present = (row: LabelDetailsRow) => (withDetails ? presentLabelDetails(row) : row.name);
  return (id) => (byItem.get(id) ?? []).map(present);
}
