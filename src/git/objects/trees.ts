import type { Repository } from "#git/storages/storage.ts";
import { badParameter, Refusal } from "#lib/refusal.ts";
import { treePath } from "./names.ts";
import { linesOf } from "./output.ts";
import {
  entryAt,
  entryFrom,
  entryNamed,
  isNameable,
  type Kind,
  KINDS,
  MAX_PATH_BYTES,
  scan,
  type Tree,
  type TreeEntry,
} from "./tree-scan.ts";

export type { Tree, TreeEntry };

/** A page of entries. */
export interface EntryPage {
  readonly rows: readonly TreeEntry[];
  readonly more: boolean;
  readonly total?: number;
  /** Whether entries were left out because their paths are too long to be requested. */
  readonly truncated: boolean;
}

/** Reads the directory at a path of a commit or tree; undefined if there is none. */
export async function readTree(repository: Repository, root: string, path = ""): Promise<Tree | undefined> {
  const directory = treePath(path);
  if (directory === undefined) return undefined;
  const found = await repository.objects.read(directory === "" ? `${root}^{tree}` : `${root}:${directory}`);
  if (found) return found.type === "tree" ? { id: found.id, path: directory, bytes: found.bytes } : undefined;
  return directory.includes("\uFFFD") ? readInexact(repository, root, directory) : undefined;
}

async function readInexact(repository: Repository, root: string, path: string): Promise<Tree | undefined> {
  const read = subtreeReader(repository);
  let tree = await readTree(repository, root);
  for (const name of path.split("/")) {
    const entry: TreeEntry | undefined = tree && (await entryNamed(tree, name))?.entry;
    tree = entry?.type === "tree" ? await read(entry) : undefined;
  }
  return tree;
}

/** The bytes of tree objects that one request may read. */
const MAX_READ_BYTES = 64 * 1024 * 1024;

/** Returns a reader of directories that refuses once they exceed the limit of one request. */
function subtreeReader(repository: Repository) {
  let left = MAX_READ_BYTES;
  return async ({ id, path }: TreeEntry): Promise<Tree | undefined> => {
    const found = await repository.objects.read(id);
    if (found?.type !== "tree") return undefined;
    left -= found.bytes.length;
    if (left < 0) throw new Refusal("too large", "The directories on the way are too large for this answer");
    return { id, path, bytes: found.bytes };
  };
}

/** Finds the entry at a path of a commit. */
export async function findEntry(repository: Repository, root: string, path: string): Promise<TreeEntry | undefined> {
  const known = treePath(path);
  if (known === undefined || known === "") return undefined;
  const slash = known.lastIndexOf("/");
  const tree = await readTree(repository, root, known.slice(0, Math.max(slash, 0)));
  return tree && (await entryNamed(tree, known.slice(slash + 1)))?.entry;
}

/** The entries that match. */
export async function filterEntries(tree: Tree, matches: (entry: TreeEntry) => boolean): Promise<TreeEntry[]> {
  const found: TreeEntry[] = [];
  await scan(tree, (at) => {
    if (!isNameable(tree, at)) return;
    const entry = entryAt(tree, at);
    if (matches(entry)) found.push(entry);
  });
  return found;
}

/** A page of a directory, subdirectories first, by offset or after a path. */
export async function listDirectory(
  tree: Tree,
  { skip, limit, after }: { skip: number; limit: number; after?: string | null | undefined },
): Promise<EntryPage> {
  const counts: Record<Kind, number> = { tree: 0, blob: 0, commit: 0 };
  const last = typeof after === "string" ? await entryNamed(tree, after.slice(after.lastIndexOf("/") + 1)) : undefined;
  if (typeof after === "string" && last?.entry.path !== after) throw badParameter("page_token is invalid");
  let [before, truncated] = [0, false];
  await scan(tree, (at) => {
    if (!isNameable(tree, at)) return void (truncated = true);
    counts[at.type] += 1;
    if (last && at.type === last.entry.type && at.start < last.next) before += 1;
  });
  const first: Record<Kind, number> = { tree: 0, blob: counts.tree, commit: counts.tree + counts.blob };
  const start = last ? first[last.entry.type] + before : skip;
  const total = counts.tree + counts.blob + counts.commit;
  const seen: Record<Kind, number> = { ...first };
  const rows: TreeEntry[] = [];
  await scan(tree, (at) => {
    if (!isNameable(tree, at)) return;
    const place = seen[at.type]++;
    if (place >= start && place < start + limit) rows.push(entryAt(tree, at));
  });
  const ordered = KINDS.flatMap((kind) => rows.filter(({ type }) => type === kind));
  return { rows: ordered, total, more: start + limit < total, truncated };
}

/** A directory on the path of the walk, and the offset of its next entry. */
interface Level {
  readonly tree: Tree;
  next: number;
}

/**
 * A page of a recursive listing in pre-order, starting after the path `after`. Only the directories on that path are
 * read, so a late page costs no more than the first.
 */
export async function walkTree(
  repository: Repository,
  tree: Tree,
  { limit, after }: { limit: number; after: string | undefined },
): Promise<EntryPage> {
  const levels: Level[] = [{ tree, next: 0 }];
  const rows: TreeEntry[] = [];
  let truncated = false;
  const read = subtreeReader(repository);
  if (after !== undefined) await descend(levels, after, read);
  for (let level = levels.at(-1); level; level = levels.at(-1)) {
    const found = entryFrom(level.tree, level.next);
    if (!found) {
      levels.pop();
      continue;
    }
    level.next = found.next;
    const { entry } = found;
    if (!entry) {
      truncated = true;
      continue;
    }
    if (rows.length === limit) return { rows, more: true, truncated };
    rows.push(entry);
    if (entry.type === "tree") await enter(levels, entry, read);
  }
  return { rows, more: false, truncated };
}

type ReadSubtree = ReturnType<typeof subtreeReader>;

async function enter(levels: Level[], entry: TreeEntry, read: ReadSubtree) {
  const tree = await read(entry);
  if (tree) levels.push({ tree, next: 0 });
}

async function descend(levels: Level[], path: string, read: ReadSubtree) {
  for (let level = levels.at(-1); level; level = levels.at(-1)) {
    const { tree } = level;
    const below = tree.path === "" ? path : path.slice(tree.path.length + 1);
    const found = await entryNamed(tree, below.split("/", 1)[0] ?? "");
    if (!found) break;
    level.next = found.next;
    if (found.entry.type === "tree") await enter(levels, found.entry, read);
    if (path === found.entry.path) return;
    if (found.entry.type !== "tree") break;
  }
  throw badParameter("page_token is invalid");
}

/**
 * Streams a whole recursive listing in the same order; the reader may stop early. An entry whose path is too long to be
 * requested is undefined.
 */
export async function* entriesBelow(
  repository: Repository,
  { id, path }: Tree,
): AsyncGenerator<(TreeEntry | undefined)[]> {
  const prefix = path === "" ? "" : `${path}/`;
  const call = { command: "ls-tree", options: ["-r", "-t", "-z"], values: [id] } as const;
  const maxBytes = HEAD_BYTES + MAX_PATH_BYTES - Buffer.byteLength(prefix);
  for await (const records of linesOf(repository, call, { end: "\0", maxBytes, overlong: "cut" })) {
    yield records.map((record) => {
      const tab = record.indexOf("\t");
      const [mode = "", type, id = ""] = record.slice(0, tab).split(" ");
      const below = record.slice(tab + 1);
      if (Buffer.byteLength(record) > maxBytes) return undefined;
      const name = below.slice(below.lastIndexOf("/") + 1);
      return { mode, type: type as TreeEntry["type"], id, name, path: prefix + below };
    });
  }
}

/** The length of mode, type and id with their separators: `100644 commit 0123…\t`. */
const HEAD_BYTES = 6 + 1 + 6 + 1 + 40 + 1;
