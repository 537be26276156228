import type { Repository } from "#git/storages/storage.ts";
import { badParameter } from "#lib/refusal.ts";
import { treePath } from "./names.ts";
import type { ObjectRead } from "./object.ts";
import { linesOf } from "./output.ts";

export interface TreeEntry {
  /** Six digits. */
  readonly mode: string;
  readonly type: "tree" | "blob" | "commit";
  readonly id: string;
  readonly name: string;
  /** From the root of the repository. */
  readonly path: string;
}

export interface Tree {
  readonly id: string;
  readonly path: string;
  readonly entries: readonly TreeEntry[];
}

const SPACE = 32;
const ID_BYTES = 20;

/** Goes through the entries of a tree object, in git's order, until one is taken: `mode name\0id`. */
function scan(bytes: Buffer, take: (start: number, space: number, end: number) => boolean) {
  for (let start = 0; start < bytes.length;) {
    const space = bytes.indexOf(SPACE, start);
    const end = bytes.indexOf(0, space);
    if (space === -1 || end === -1 || take(start, space, end)) return;
    start = end + 1 + ID_BYTES;
  }
}

/** One entry; bytes of its name that are no UTF-8 become U+FFFD. */
function entryAt(bytes: Buffer, prefix: string, start: number, space: number, end: number): TreeEntry {
  const mode = bytes.toString("latin1", start, space).padStart(6, "0");
  const name = bytes.toString("utf8", space + 1, end);
  const id = bytes.toString("hex", end + 1, end + 1 + ID_BYTES);
  return { mode, type: typeOf(mode), id, name, path: prefix + name };
}

/** What a tree object lists. */
function parseTree(bytes: Buffer, directory: string): TreeEntry[] {
  const entries: TreeEntry[] = [];
  const prefix = directory === "" ? "" : `${directory}/`;
  scan(bytes, (...at) => {
    entries.push(entryAt(bytes, prefix, ...at));
    return false;
  });
  return entries;
}

const typeOf = (mode: string) => (mode === "040000" ? "tree" : mode === "160000" ? "commit" : "blob");

/** The directory at a path of a commit or tree, or undefined where there is none. */
export async function readTree(repository: Repository, root: string, path = ""): Promise<Tree | undefined> {
  const directory = treePath(path);
  if (directory === undefined) return undefined;
  const found = await readDirectory(repository, root, directory);
  if (found) return { id: found.id, path: directory, entries: parseTree(found.bytes, directory) };
  return isInexact(directory) ? readInexact(repository, root, directory) : undefined;
}

async function readDirectory({ objects }: Repository, root: string, path: string): Promise<ObjectRead | undefined> {
  const found = await objects.read(path === "" ? `${root}^{tree}` : `${root}:${path}`);
  return found?.type === "tree" ? found : undefined;
}

/** A name that is no UTF-8 was told with U+FFFD in it, and is asked for so. */
const isInexact = (path: string) => path.includes("\uFFFD");

async function readInexact(repository: Repository, root: string, path: string): Promise<Tree | undefined> {
  let tree = await readTree(repository, root);
  for (const name of path.split("/")) {
    const entry = tree?.entries.find((entry) => entry.name === name && entry.type === "tree");
    const found = entry && (await repository.objects.read(entry.id));
    tree = found && { id: entry.id, path: entry.path, entries: parseTree(found.bytes, entry.path) };
  }
  return tree;
}

/** What a path of a commit names. */
export async function findEntry(repository: Repository, root: string, path: string): Promise<TreeEntry | undefined> {
  const known = treePath(path);
  if (known === undefined || known === "") return undefined;
  const slash = known.lastIndexOf("/");
  const directory = known.slice(0, Math.max(slash, 0));
  if (isInexact(known)) {
    const tree = await readTree(repository, root, directory);
    return tree?.entries.find(({ name }) => name === known.slice(slash + 1));
  }
  const found = await readDirectory(repository, root, directory);
  return found && entryNamed(found.bytes, directory, known.slice(slash + 1));
}

/** One entry of a tree object, which may be large, without taking all of it apart. */
function entryNamed(bytes: Buffer, directory: string, name: string): TreeEntry | undefined {
  const wanted = Buffer.from(name);
  let entry: TreeEntry | undefined;
  scan(bytes, (start, space, end) => {
    if (end - space - 1 !== wanted.length || wanted.compare(bytes, space + 1, end) !== 0) return false;
    entry = entryAt(bytes, directory === "" ? "" : `${directory}/`, start, space, end);
    return true;
  });
  return entry;
}

/** What is in a directory, its own directories first, as people look for them. */
export const directoriesFirst = ({ entries }: Tree): TreeEntry[] =>
  KINDS.flatMap((kind) => entries.filter(({ type }) => type === kind));

const KINDS = ["tree", "blob", "commit"] as const;

/** A directory on the way, and the place in it that comes next. */
interface Level {
  readonly entries: readonly TreeEntry[];
  next: number;
}

/**
 * All that is below a directory, each directory before what is in it, beginning behind the path `after`. Only
 * directories on the way are read, so that a page far in costs no more than the first.
 */
export async function* walkTree(repository: Repository, tree: Tree, after?: string): AsyncGenerator<TreeEntry> {
  const levels = [{ entries: tree.entries, next: 0 }];
  if (after !== undefined) await descend(repository, levels, after);
  for (let level = levels.at(-1); level; level = levels.at(-1)) {
    const entry = level.entries[level.next++];
    if (!entry) levels.pop();
    else {
      yield entry;
      if (entry.type === "tree") levels.push(await levelOf(repository, entry));
    }
  }
}

async function descend(repository: Repository, levels: Level[], path: string) {
  for (let level = levels.at(-1); level; level = levels.at(-1)) {
    const at = level.entries.findIndex((entry) => path === entry.path || path.startsWith(`${entry.path}/`));
    const entry = level.entries[at];
    if (!entry) throw badParameter("page_token is invalid");
    level.next = at + 1;
    if (entry.type === "tree") levels.push(await levelOf(repository, entry));
    if (path === entry.path) return;
  }
}

async function levelOf(repository: Repository, { id, path }: TreeEntry): Promise<Level> {
  const found = await repository.objects.read(id);
  return { entries: found ? parseTree(found.bytes, path) : [], next: 0 };
}

/** All that is below a directory in the same order, as one answer of git, of which whoever reads takes as much as needed. */
export async function* everythingBelow(repository: Repository, { id, path }: Tree): AsyncGenerator<TreeEntry[]> {
  const prefix = path === "" ? "" : `${path}/`;
  const call = { command: "ls-tree", options: ["-r", "-t", "-z"], values: [id] } as const;
  for await (const records of linesOf(repository, call, "\0")) {
    yield records.map((record) => {
      const tab = record.indexOf("\t");
      const [mode = "", type, id = ""] = record.slice(0, tab).split(" ");
      const below = record.slice(tab + 1);
      const name = below.slice(below.lastIndexOf("/") + 1);
      return { mode, type: type as TreeEntry["type"], id, name, path: prefix + below };
    });
  }
}
