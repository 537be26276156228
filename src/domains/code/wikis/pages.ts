import { readBlob } from "#git/objects/blobs.ts";
import { resolveCommit } from "#git/objects/names.ts";
import { entriesBelow, filterEntries, readTree, type TreeEntry } from "#git/objects/trees.ts";
import type { Repository } from "#git/storages/storage.ts";
import { MAX_TOTAL } from "#db/lists/list-page.ts";
import type { Slice, SliceRequest } from "#http/paging.ts";
import { missing, Refusal } from "#lib/refusal.ts";
import { ONLY_BRANCH } from "#domains/storage/repositories/location.ts";
import { type PageFile, pageFile } from "./formats.ts";

const HEAD = `refs/heads/${ONLY_BRANCH}`;
/** A larger file is no page that anybody reads; git has it. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** A page, and the object that holds its content. */
export interface StoredPage extends PageFile {
  readonly id: string;
}

const storedPage = ({ type, path, id }: TreeEntry): StoredPage[] => {
  const file = type === "blob" ? pageFile(path) : undefined;
  return file ? [{ ...file, id }] : [];
};

/** A part of the pages of a wiki, in the order of their paths. */
export async function listPages(repository: Repository, { skip, limit }: SliceRequest): Promise<Slice<StoredPage>> {
  const tree = await readTree(repository, HEAD);
  const rows: StoredPage[] = [];
  let total = 0;
  if (!tree) return { rows, more: false, total };
  for await (const entries of entriesBelow(repository, tree)) {
    for (const page of entries.flatMap((entry) => (entry ? storedPage(entry) : []))) {
      if (total++ >= skip && rows.length < limit) rows.push(page);
    }
    if (total > MAX_TOTAL && total > skip + limit) return { rows, more: true };
  }
  return { rows, more: total > skip + limit, total };
}

/** Finds the page with a slug, now or at a commit. */
export async function findPage(repository: Repository, slug: string, version = HEAD): Promise<StoredPage | undefined> {
  const commit = version === HEAD ? HEAD : await resolveCommit(repository, version);
  const slash = slug.lastIndexOf("/");
  const tree = commit === undefined ? undefined : await readTree(repository, commit, slug.slice(0, Math.max(slash, 0)));
  if (!tree) return undefined;
  const entries = await filterEntries(tree, ({ type, path }) => type === "blob" && pageFile(path)?.slug === slug);
  return entries.flatMap(storedPage)[0];
}

export async function requirePage(...asked: Parameters<typeof findPage>): Promise<StoredPage> {
  const page = await findPage(...asked);
  if (!page) throw missing("Wiki page");
  return page;
}

export async function contentOf(repository: Repository, { id }: StoredPage): Promise<string> {
  const info = await repository.objects.info(id);
  if (info && info.size > MAX_PAGE_BYTES) {
    throw new Refusal(
      "too large",
      `The page has ${info.size} bytes, more than fit into JSON; clone the wiki to read it`,
    );
  }
  return (await readBlob(repository, id))?.toString() ?? "";
}
