import type { ItemKind } from "#domains/conversation/items/item.ts";

/** What a reference to an issue or epic looks like: `#12`, `project#12`, `group/project#12`; epics have `&`. */
export interface References {
  readonly short: string;
  /** As short as it is clear in the container that the request names. */
  readonly relative: string;
  readonly full: string;
}

/** The references to an item of the container `path`, as seen from `from`; both are full paths. */
export function referencesTo({ sign }: ItemKind, iid: number, path: string, from: string): References {
  const short = `${sign}${iid}`;
  return { short, relative: `${relativePath(path, from)}${short}`, full: `${path}${short}` };
}

/** The reference to an item in a text on one of the container `from`: short within it, full elsewhere. */
export function referenceIn(
  from: string,
  kind: ItemKind,
  { iid, path }: { readonly iid: number; readonly path: string },
): string {
  const { short, full } = referencesTo(kind, iid, path, from);
  return path === from ? short : full;
}

/** A path without what it has in common with the namespace of another; nothing if they are the same. */
function relativePath(path: string, from: string): string {
  if (path === from) return "";
  const parent = (full: string) => full.slice(0, Math.max(full.lastIndexOf("/"), 0));
  // Within one namespace, or for what is below a group, the rest of the path is enough.
  for (const base of [from, parent(from)])
    if (base !== "" && path.startsWith(`${base}/`)) return path.slice(base.length + 1);
  return path;
}
