import type { Db } from "#db/database.ts";
import type { LinkedItem, LinkKind, Viewer } from "./kinds.ts";
import { type Linked, type LinkRow, type LinkType, noLink, seenFrom, withOthers } from "./queries.ts";

/** A link with the views of its two ends. */
export interface LinkView<View> {
  readonly link: LinkRow;
  readonly source: View;
  readonly target: View;
  readonly type: LinkType;
}

/** Presents a link as it reads from an item. */
export async function linkView<Row extends LinkedItem, View>(
  db: Db,
  kind: LinkKind<Row, View>,
  item: Row,
  { link, other }: Linked<Row>,
  viewer: Viewer,
): Promise<LinkView<View>> {
  const [source, target] = await kind.views(db, [item, other], viewer);
  if (source === undefined || target === undefined) return noLink();
  return { link, source, target, type: seenFrom(item, link).type };
}

/** Presents the items at the other ends of links, in the order of the links. */
export async function linkedViews<Row extends LinkedItem, View extends object>(
  db: Db,
  kind: LinkKind<Row, View>,
  item: Row,
  links: readonly LinkRow[],
  viewer: Viewer,
) {
  const linked = await withOthers(db, kind, item, viewer.actor, links);
  const others = linked.map(({ other }) => other);
  const views = await kind.views(db, others, viewer);
  return linked.flatMap(({ link }, index) => {
    const view = views[index];
    return view ? [{ link, view: { ...view, ...linkFields(link, seenFrom(item, link).type) } }] : [];
  });
}

const linkFields = ({ created_at, updated_at }: LinkRow, link_type: LinkType) => ({
  link_type,
  link_created_at: created_at,
  link_updated_at: updated_at,
});

/** Presents links between items of which the viewer may see both, as they are stored. */
export async function storedLinkViews<Row extends LinkedItem, View>(
  db: Db,
  kind: LinkKind<Row, View>,
  links: readonly LinkRow[],
  viewer: Viewer,
): Promise<LinkView<View>[]> {
  const ends = Map.groupBy(
    links.flatMap(({ source_id, target_id }) => [source_id, target_id]),
    (id) => id,
  );
  const rows = await kind.visible(db, viewer.actor, [...ends.keys()]);
  const copies = Math.max(1, ...[...ends.values()].map(({ length }) => length));
  const views = await kind.views(db, rows, { ...viewer, copies });
  const byId = new Map(rows.map(({ id }, index) => [id, views[index]]));
  return links.flatMap((link) => {
    const [source, target] = [byId.get(link.source_id), byId.get(link.target_id)];
    return source === undefined || target === undefined ? [] : [{ link, source, target, type: link.link_type }];
  });
}
