import type { Commit } from "#git/objects/commits.ts";
import { EMPTY_TREE } from "#git/objects/diffs.ts";
import { allLines } from "#git/objects/output.ts";
import { GitFailed, type Repository } from "#git/storages/storage.ts";
import { DIRECTORY, importing } from "./importing.ts";

/** What there is to merge: how two trees came out of a third. */
interface Trees {
  readonly base: string;
  readonly ours: string;
  readonly theirs: string;
}

/** What it means to do once more, on top of another tree, what a commit did; of a merge, what it did to its first parent. */
export async function treesToPick(repository: Repository, commit: Commit, ours: string): Promise<Trees> {
  return { base: await treeBefore(repository, commit), ours, theirs: commit.tree };
}

/** The same to undo it. */
export async function treesToRevert(repository: Repository, commit: Commit, ours: string): Promise<Trees> {
  return { base: commit.tree, ours, theirs: await treeBefore(repository, commit) };
}

async function treeBefore(repository: Repository, { parents: [parent] }: Commit): Promise<string> {
  if (parent === undefined) return EMPTY_TREE;
  return (await repository.objects.info(`${parent}^{tree}`))?.id ?? EMPTY_TREE;
}

const NOBODY = { name: "Fairlead", email: "", at: 0, zone: 0 };

/**
 * Merges trees, or gives nothing where both sides changed the same. Git merges commits only, so that these are made for
 * it; nothing ever leads to them.
 */
export async function mergedTree(repository: Repository, trees: Trees): Promise<string | undefined> {
  const [ours, theirs] = await importing(repository, async ({ write }) => {
    const holding = (tree: string, parent: string | undefined) =>
      write({
        parent,
        message: "",
        author: NOBODY,
        committer: NOBODY,
        changes: [{ path: "", mode: DIRECTORY, id: tree }],
      });
    const base = await holding(trees.base, undefined);
    return [await holding(trees.ours, base), await holding(trees.theirs, base)];
  });
  try {
    const options = ["--write-tree", "--no-messages", "--name-only"];
    const [tree] = await allLines(repository, { command: "merge-tree", options, values: [ours, theirs] });
    return tree;
  } catch (error) {
    // So it says that there are conflicts.
    if (error instanceof GitFailed && error.exitCode === 1) return undefined;
    throw error;
  }
}
