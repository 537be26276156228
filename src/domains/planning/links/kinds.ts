import type { Static, TObject, TProperties, TSchema } from "typebox";
import type { Access } from "#access/access.ts";
import type { Actor } from "#access/principal.ts";
import type { Databases, Db, Tx } from "#db/database.ts";
import type { Endpoint } from "#http/endpoint.ts";
import type { Answer } from "#domains/conversation/items/answer.ts";
import type { ItemKind } from "#domains/conversation/items/item.ts";
import type { LinkView } from "./views.ts";

/** The caller, and where links of references lead. */
export interface Viewer extends Answer {
  readonly actor: Actor | null;
  readonly site: string;
  readonly project?: { readonly id: number };
  readonly group?: { readonly id: number };
}

export interface LinkedItem {
  readonly id: number;
  readonly iid: number;
}

/** What is shown of an item, with its reference. */
export interface LinkedView {
  readonly id: number;
  readonly references: { readonly short: string; readonly full: string };
}

/** A kind of item that has links: the tables, who sees an item, and how it is presented. */
export interface LinkKind<Row extends LinkedItem = LinkedItem, View = unknown> {
  readonly item: ItemKind;
  readonly links: "issue_links" | "epic_links";
  /** Those of some items that an actor may see, in no order. */
  visible(db: Db, actor: Actor | null, ids: readonly number[]): Promise<Row[]>;
  /** Whether two items are parent and child, which cannot be linked as well. */
  isFamily(one: Row, other: Row): boolean;
  /** The id of the project or group that an item is in. */
  containerId(row: Row): number;
  /** Presents items in the order of the rows. */
  views(db: Db, rows: readonly Row[], viewer: Viewer): Promise<View[]>;
}

/** A request to link an item, or to end that. */
export interface LinkWrite {
  readonly tx: Tx;
  readonly actor: Actor;
  readonly services: { readonly db: Databases };
}

/** Where the links of a kind are in the API, who may read and write them, and what of them is shown. */
export interface LinkResource<
  Row extends LinkedItem = LinkedItem,
  View extends LinkedView = LinkedView,
  Container extends object = object,
  Path extends TProperties = TProperties,
  New extends TProperties = TProperties,
> {
  readonly kind: LinkKind<Row, View>;
  readonly path: string;
  /** The name of a link's id in paths, and beside a linked item. */
  readonly linkId: string;
  /** In summaries. */
  readonly both: string;
  readonly needed: string;
  readonly availability: Pick<Endpoint, "plan" | "deprecated">;
  readonly reader: Access<Container & { readonly actor: Actor | null }>;
  readonly writer: Access<Container & { readonly actor: Actor }>;
  /** The parameters of the item's path, and those that name what it is linked to. */
  readonly params: TObject<Path>;
  readonly target: TObject<New>;
  find(db: Db, seen: Container & { readonly actor: Actor | null }, params: Static<TObject<Path>>): Promise<Row>;
  /** The item that a request names as the target. */
  findTarget(write: Container & LinkWrite, params: Static<TObject<New>>): Promise<Row>;
  /** Refuses a caller who may not link the item in the path with another one that they see. */
  requireRights(write: Container & LinkWrite, item: Row, other: Row): Promise<void>;
  /** What the API shows of a linked item, and of a link. */
  readonly linked: TSchema;
  linkedViews(db: Db, rows: readonly Row[], viewer: Viewer): Promise<View[]>;
  readonly link: TSchema;
  present(view: LinkView<View>): object;
}

/** The compiler checks a resource by types of its own, which the function that makes the endpoints does not know. */
export const linkResource = <
  Row extends LinkedItem,
  View extends LinkedView,
  Container extends object,
  Path extends TProperties,
  New extends TProperties,
>(
  resource: LinkResource<Row, View, Container, Path, New>,
) => resource as unknown as LinkResource;
