/** Parameters as they arrived: untyped, and without a prototype, so that no name a caller sends can reach one. */
export type RawSet = Record<string, unknown>;

export const emptySet = (): RawSet => Object.create(null) as RawSet;

/** A file part of a multipart body, held in memory. */
export class UploadedFile {
  readonly filename: string;
  readonly type: string;
  readonly bytes: Buffer;

  constructor(filename: string, type: string, bytes: Buffer) {
    this.filename = filename;
    this.type = type;
    this.bytes = bytes;
  }
}

/** Keys that would reach a prototype if later code copies or merges carelessly. */
export const isForbiddenKey = (key: string) => key === "__proto__" || key === "constructor" || key === "prototype";

export const isHash = (value: unknown): value is RawSet =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof UploadedFile);

/** Merges the parameters of any method: the path wins, then the body, then the query. */
export function merge(path: RawSet, query?: RawSet, body?: RawSet): RawSet {
  const merged = emptySet();
  for (const set of [query, body, path]) {
    if (set) for (const name of Object.keys(set)) merged[name] = set[name];
  }
  return merged;
}

/** `projectsLimit` is `projects_limit`: one client uses its own spelling in multipart bodies. */
export const snakeCase = (name: string) => name.replace(/(?<=.)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
