import { setImmediate as nextTurn } from "node:timers/promises";

export const KINDS = ["tree", "blob", "commit"] as const;
export type Kind = (typeof KINDS)[number];

export interface TreeEntry {
  /** Six digits. */
  readonly mode: string;
  readonly type: Kind;
  readonly id: string;
  readonly name: string;
  /** From the root of the repository. */
  readonly path: string;
}

/** The offsets of an entry in the bytes of a tree object: `mode name\0id`. */
interface Position {
  readonly start: number;
  /** Of the first byte of its name. */
  readonly name: number;
  /** Of the zero byte behind its name. */
  readonly end: number;
  readonly type: Kind;
}

/** A tree object may have half a million entries, so the scan yields to the event loop after this many bytes. */
const SLICE_BYTES = 512 * 1024;
const ID_BYTES = 20;
const SPACE = 32;
const [TREE_MODE, COMMIT_MODE] = [0o40000, 0o160000];
/** The longest path that a file system can check out. */
export const MAX_PATH_BYTES = 4096;

/** Parses the entry at an offset; undefined at the end of the tree, or if the entry is malformed. */
function positionAt(bytes: Buffer, start: number): Position | undefined {
  let mode = 0;
  let at = start;
  for (; at < bytes.length && bytes[at] !== SPACE; at++) mode = mode * 8 + ((bytes[at] ?? 0) & 7);
  const name = at + 1;
  for (at = name; at < bytes.length && bytes[at] !== 0; at++);
  if (at + ID_BYTES >= bytes.length) return undefined;
  return { start, name, end: at, type: mode === TREE_MODE ? "tree" : mode === COMMIT_MODE ? "commit" : "blob" };
}

const after = ({ end }: Position) => end + 1 + ID_BYTES;

/** A tree object with the path of its directory. Entries are parsed from the bytes on demand. */
export interface Tree {
  readonly id: string;
  readonly path: string;
  readonly bytes: Buffer;
}

/** Visits the entries of a tree in git's order until `visit` returns true. */
export async function scan({ bytes }: Tree, visit: (position: Position) => boolean | void): Promise<void> {
  let pause = SLICE_BYTES;
  for (let at = positionAt(bytes, 0); at; at = positionAt(bytes, after(at))) {
    if (visit(at)) return;
    if (at.end < pause) continue;
    await nextTurn();
    pause = at.end + SLICE_BYTES;
  }
}

/** Decodes an entry; bytes of its name that are not UTF-8 become U+FFFD. */
export function entryAt({ bytes, path }: Tree, { start, name: nameAt, end, type }: Position): TreeEntry {
  const mode = bytes.toString("latin1", start, nameAt - 1).padStart(6, "0");
  const name = bytes.toString("utf8", nameAt, end);
  const id = bytes.toString("hex", end + 1, end + 1 + ID_BYTES);
  return { mode, type, id, name, path: path === "" ? name : `${path}/${name}` };
}

/** Whether the path of an entry is short enough to be requested. */
export const isNameable = ({ path }: Tree, { name, end }: Position) =>
  end - name + (path === "" ? 0 : Buffer.byteLength(path) + 1) <= MAX_PATH_BYTES;

/** The first entry with a name. */
export async function entryNamed(tree: Tree, name: string): Promise<{ entry: TreeEntry; next: number } | undefined> {
  const wanted = Buffer.from(name);
  // A name that is not UTF-8 was presented with U+FFFD in it, and is requested that way.
  const isInexact = name.includes("\uFFFD");
  let found: { entry: TreeEntry; next: number } | undefined;
  await scan(tree, (at) => {
    const isNamed = isInexact
      ? tree.bytes.toString("utf8", at.name, Math.min(at.end, at.name + MAX_PATH_BYTES)) === name
      : at.end - at.name === wanted.length && wanted.compare(tree.bytes, at.name, at.end) === 0;
    if (isNamed) found = { entry: entryAt(tree, at), next: after(at) };
    return isNamed;
  });
  return found;
}

/** The entry at an offset, undefined if its path is too long, and the offset of the next one. */
export function entryFrom(tree: Tree, start: number): { entry: TreeEntry | undefined; next: number } | undefined {
  const at = positionAt(tree.bytes, start);
  return at && { entry: isNameable(tree, at) ? entryAt(tree, at) : undefined, next: after(at) };
}
