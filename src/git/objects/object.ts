import type { FactCache } from "./facts.ts";

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

/** The objects of one repository, named by an id, a full ref, `id:path` or `ref^{commit}`. */
export interface Objects extends FactCache {
  info(name: string): Promise<ObjectInfo | undefined>;
  /** Reads an object with its bytes; refused if larger than `maxBytes`, by default 16 MiB. */
  read(name: string, maxBytes?: number): Promise<ObjectRead | undefined>;
}
