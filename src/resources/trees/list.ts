import {
  type Entries,
  everythingBelow,
  listDirectory,
  type Tree,
  type TreeEntry,
  walkTree,
} from "#git/objects/trees.ts";
import type { Repository } from "#git/storages/storage.ts";
import { COUNTED, type Wanted } from "#http/paging.ts";

/** A page of what is in a directory: directories first, or with `recursive` each before what is in it. */
export function treePage(repository: Repository, tree: Tree, recursive: boolean, wanted: Wanted): Promise<Entries> {
  if (!recursive) return listDirectory(tree, wanted);
  const { limit, after } = wanted;
  return after === null ? numberedPage(repository, tree, wanted) : walkTree(repository, tree, { limit, after });
}

/** By number, all before the page has to be told by git. */
async function numberedPage(repository: Repository, tree: Tree, { skip, limit }: Wanted): Promise<Entries> {
  const rows: TreeEntry[] = [];
  let total = 0;
  let truncated = false;
  for await (const entries of everythingBelow(repository, tree)) {
    for (const entry of entries) {
      if (!entry) truncated = true;
      else if (total++ >= skip && rows.length < limit) rows.push(entry);
    }
    if (total > COUNTED && total > skip + limit) break;
  }
  return { rows, total, more: total > skip + limit, truncated };
}
