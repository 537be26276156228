import { readTree, walkTree } from "#git/objects/trees.ts";
import type { Repository } from "#git/storages/storage.ts";

/** More files and directories are not looked at. */
const MAX_ENTRIES = 100;

/** The paths of the files on a branch. */
export async function fileNamesOn(repository: Repository, branch: string): Promise<string[]> {
  const tree = await readTree(repository, `refs/heads/${branch}`);
  const page = tree && (await walkTree(repository, tree, { limit: MAX_ENTRIES, after: undefined }));
  return (page?.rows ?? []).filter(({ type }) => type === "blob").map(({ path }) => path);
}
