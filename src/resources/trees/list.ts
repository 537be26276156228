import { directoriesFirst, everythingBelow, type Tree, type TreeEntry, walkTree } from "#git/objects/trees.ts";
import type { Repository } from "#git/storages/storage.ts";
import { COUNTED, type Found, type Wanted } from "#http/paging.ts";
import { badParameter } from "#lib/refusal.ts";

/** A page of what is in a directory: directories first, or with `recursive` each before what is in it. */
export function treePage(
  repository: Repository,
  tree: Tree,
  recursive: boolean,
  wanted: Wanted,
): Found<TreeEntry> | Promise<Found<TreeEntry>> {
  if (!recursive) return entriesAt(tree, wanted);
  return wanted.after === null ? numberedPage(repository, tree, wanted) : nextPage(repository, tree, wanted);
}

function entriesAt(tree: Tree, { skip, limit, after }: Wanted): Found<TreeEntry> {
  const entries = directoriesFirst(tree);
  const start = typeof after === "string" ? entries.findIndex(({ path }) => path === after) + 1 : skip;
  if (typeof after === "string" && start === 0) throw badParameter("page_token is invalid");
  const rows = entries.slice(start, start + limit);
  return { rows, total: entries.length, more: start + limit < entries.length };
}

/** By number, all before the page has to be told by git. */
async function numberedPage(repository: Repository, tree: Tree, { skip, limit }: Wanted): Promise<Found<TreeEntry>> {
  const rows: TreeEntry[] = [];
  let total = 0;
  for await (const entries of everythingBelow(repository, tree)) {
    for (const entry of entries) {
      if (total >= skip && rows.length < limit) rows.push(entry);
      total += 1;
    }
    if (total > COUNTED && total > skip + limit) break;
  }
  return { rows, total, more: total > skip + limit };
}

async function nextPage(repository: Repository, tree: Tree, { limit, after }: Wanted): Promise<Found<TreeEntry>> {
  const rows: TreeEntry[] = [];
  for await (const entry of walkTree(repository, tree, after ?? undefined)) {
    if (rows.length === limit) return { rows, more: true };
    rows.push(entry);
  }
  return { rows, more: false };
}
