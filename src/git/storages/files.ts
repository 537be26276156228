import { mkdir, open, opendir, readdir, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

const hasCode = (error: unknown, ...codes: string[]) =>
  error instanceof Error && "code" in error && codes.includes(String(error.code));

/** The metadata of a file or directory; undefined if it does not exist. */
export async function statIfExists(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "ENAMETOOLONG")) return undefined;
    throw error;
  }
}

/** The names of the directories in a directory, none if it does not exist. */
export async function* directoriesIn(directory: string): AsyncIterable<string> {
  try {
    for await (const entry of await opendir(directory)) if (entry.isDirectory()) yield entry.name;
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}

/** The bytes of all files below a directory. */
export async function sizeOf(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    // It may have been removed since it was listed.
    if (entry.isFile()) bytes += (await statIfExists(join(entry.parentPath, entry.name)))?.size ?? 0;
  }
  return bytes;
}

/** Renames a directory durably; returns false if there is none. */
export async function renameIfExists(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
    return false;
  }
  await sync(dirname(from));
  return true;
}

/** Renames a directory durably unless the target exists. */
export async function renameUnlessTaken(from: string, to: string) {
  try {
    await rename(from, to);
  } catch (error) {
    if (!hasCode(error, "ENOTEMPTY", "EEXIST")) throw error;
  }
  await sync(dirname(to));
}

/** Creates a directory and its parents up to the root durably. */
export async function createDirectory(directory: string, root: string) {
  const first = await mkdir(directory, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let at = directory; at.length >= root.length; at = dirname(at)) await sync(dirname(at));
}

async function sync(path: string) {
  await using file = await open(path, "r");
  await file.sync();
}

/** Makes everything below a directory durable. */
export async function syncTree(directory: string) {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    await sync(join(entry.parentPath, entry.name));
  }
  await sync(directory);
}
