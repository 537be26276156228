import { readTree, walkTree } from "#git/objects/trees.ts";
import type { Repository } from "#git/storages/storage.ts";

/** More files and directories are not looked at. */
const MAX_ENTRIES = 100;
/** Whoever pushes chooses the length of names, and a list shows those of a hundred snippets. */
const MAX_LENGTH = 4000;

/** The paths of the first files on a branch. */
export async function fileNamesOn(repository: Repository, branch: string): Promise<string[]> {
  const tree = await readTree(repository, `refs/heads/${branch}`);
  const page = tree && (await walkTree(repository, tree, { limit: MAX_ENTRIES, after: undefined }));
  const paths = (page?.rows ?? []).filter(({ type }) => type === "blob").map(({ path }) => path);
  let length = 0;
  return paths.filter((path) => (length += path.length) <= MAX_LENGTH);
}
