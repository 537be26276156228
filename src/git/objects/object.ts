import type { Facts } from "./facts.ts";

export type ObjectType = "commit" | "tree" | "blob" | "tag";

export interface ObjectInfo {
  readonly id: string;
  readonly type: ObjectType;
  readonly size: number;
}

/** An object with its bytes. */
export interface ObjectRead extends ObjectInfo {
  readonly bytes: Buffer;
}

/** The objects of one repository, by names that were made by us: an id, a full ref, `id:path`, `ref^{commit}`. */
export interface Objects extends Facts {
  info(name: string): Promise<ObjectInfo | undefined>;
  /** With its bytes; one that has more of them than `most`, 16 MiB if left out, is refused. */
  read(name: string, most?: number): Promise<ObjectRead | undefined>;
}
