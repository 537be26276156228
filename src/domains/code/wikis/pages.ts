import { resolveCommit } from "#git/objects/names.ts";
import { entriesBelow, filterEntries, readTree, type TreeEntry } from "#git/objects/trees.ts";
import type { Repository } from "#git/storages/storage.ts";
import { MAX_TOTAL } from "#db/lists/list-page.ts";
import type { Slice, SliceRequest } from "#http/paging.ts";
import { missing } from "#lib/refusal.ts";
import { MAX_ANSWER_BYTES } from "#domains/code/repository/answer-budget.ts";
import { bytesForJson } from "#domains/code/repository/raw.ts";
import { ONLY_BRANCH } from "#domains/storage/repositories/location.ts";
import { type PageFile, pageFile } from "./formats.ts";

const HEAD = `refs/heads/${ONLY_BRANCH}`;
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

/** Reserves memory for what a request reads. */
interface Reader {
  reserveMemory(bytes: number): void;
}

/** The content of a page as bytes, which need not be UTF-8. */
export async function contentOf(repository: Repository, { id }: StoredPage, reader: Reader): Promise<Buffer> {
  const info = await repository.objects.info(id);
  return info ? bytesForJson(repository, info, reader, "clone the wiki to read it") : Buffer.alloc(0);
}

/** Reads the content of pages one by one, as long as all of it together may fit into an answer. */
export function contentReader(repository: Repository, reader: Reader) {
  let left = MAX_ANSWER_BYTES;
  return async ({ id }: StoredPage): Promise<string | undefined> => {
    const info = await repository.objects.info(id);
    if (!info || info.size > left) return undefined;
    left -= info.size;
    return (await bytesForJson(repository, info, reader)).toString();
  };
}
