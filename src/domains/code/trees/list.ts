import {
  type EntryPage,
  entriesBelow,
  listDirectory,
  type Tree,
  type TreeEntry,
  walkTree,
} from "#git/objects/trees.ts";
import type { Repository } from "#git/storages/storage.ts";
import { MAX_TOTAL } from "#db/lists/list-page.ts";
import type { SliceRequest } from "#http/paging.ts";

/** A page of a directory: subdirectories first, or with `recursive` each directory before its content. */
export function treePage(
  repository: Repository,
  tree: Tree,
  recursive: boolean,
  wanted: SliceRequest,
): Promise<EntryPage> {
  if (!recursive) return listDirectory(tree, wanted);
  const { limit, after } = wanted;
  return after === null ? offsetPage(repository, tree, wanted) : walkTree(repository, tree, { limit, after });
}

/** Offset paging has to read everything before the page from git. */
async function offsetPage(repository: Repository, tree: Tree, { skip, limit }: SliceRequest): Promise<EntryPage> {
  const rows: TreeEntry[] = [];
  let total = 0;
  let truncated = false;
  for await (const entries of entriesBelow(repository, tree)) {
    for (const entry of entries) {
      if (!entry) truncated = true;
      else if (total++ >= skip && rows.length < limit) rows.push(entry);
    }
    if (total > MAX_TOTAL && total > skip + limit) break;
  }
  return { rows, total, more: total > skip + limit, truncated };
}
