import type { Static, TObject, TProperties, TSchema } from "typebox";
import type { Access } from "#access/access.ts";
import type { GroupSeen, ProjectSeen } from "#access/containers.ts";
import type { Actor } from "#access/principal.ts";
import type { Db } from "#db/database.ts";
import type { Endpoint } from "#http/endpoint.ts";
import type { Item, ItemKind } from "./item.ts";

/** An item that an actor sees, with what the notes and emoji on it depend on. */
export interface ItemSeen extends Item {
  readonly iid: number;
  readonly project_id: number | null;
  /** Whether only members may write. */
  readonly locked: boolean;
  readonly place: "project" | "group";
  readonly container: ProjectSeen | GroupSeen;
  readonly actor: Actor | null;
}

/** The same for somebody who is signed in. */
export type WritableItem = ItemSeen & { readonly actor: Actor };

/** Where the items of a kind are in the API, who may read and write what belongs to one, and how one is found. */
export interface ItemResource<Container extends object = object, Path extends TProperties = TProperties> {
  readonly kind: ItemKind;
  readonly path: string;
  /** The parameters of the path. */
  readonly params: TObject<Path>;
  /** What an item is called in summaries. */
  readonly one: string;
  readonly availability: Pick<Endpoint, "plan" | "deprecated">;
  readonly reader: Access<Container & { readonly actor: Actor | null }>;
  readonly signedIn: Access<Container & { readonly actor: Actor }>;
  readonly writer: Access<Container & { readonly actor: Actor }>;
  /** Refuses an item that the actor may not see like a missing one. */
  find(db: Db, seen: Container & { readonly actor: Actor | null }, params: Static<TObject<Path>>): Promise<ItemSeen>;
  /** One item by itself. */
  readonly single: TSchema;
  show(
    db: Db,
    viewer: Container & { readonly actor: Actor; readonly site: string },
    params: Static<TObject<Path>>,
  ): Promise<object>;
}

/** The compiler checks a resource by types of its own, which functions that make endpoints of any kind do not know. */
export const itemResource = <Container extends object, Path extends TProperties>(
  resource: ItemResource<Container, Path>,
) => resource as unknown as ItemResource;

interface WriteRequest {
  readonly actor: Actor;
  readonly params: Record<string, unknown>;
}

/** The item that a request to write something on it names. */
export const writableItem = async (
  { find }: Pick<ItemResource, "find">,
  tx: Db,
  { params, ...seen }: WriteRequest,
): Promise<WritableItem> => ({ ...(await find(tx, seen, params)), actor: seen.actor });
