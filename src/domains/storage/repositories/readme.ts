import { filterEntries, readTree } from "#git/objects/trees.ts";
import type { RefChange } from "#git/push-commands.ts";
import type { Repository } from "#git/storages/storage.ts";

/** In order of preference. */
const READMES = [/^readme\.(?:md|markdown)$/i, /^readme\.\w{1,10}$/i, /^readme$/i];

/** Returns the name of the README in the root directory of a branch. */
export async function readmeOn(repository: Repository, branch: string): Promise<string | null> {
  const tree = await readTree(repository, `refs/heads/${branch}`);
  const isReadme = (name: string) => READMES.some((known) => known.test(name));
  const found = tree ? await filterEntries(tree, ({ type, name }) => type === "blob" && isReadme(name)) : [];
  const names = found.map(({ name }) => name);
  return READMES.map((known) => names.find((name) => known.test(name))).find((name) => name !== undefined) ?? null;
}

/** Returns the README after changes, or undefined if they did not touch the branch. */
export const readmeAfter = async (repository: Repository, branch: string | null, changes: readonly RefChange[]) =>
  changes.some(({ ref }) => ref === `refs/heads/${branch}`) ? readmeOn(repository, branch ?? "") : undefined;
