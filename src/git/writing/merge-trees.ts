import type { Commit } from "#git/objects/commits.ts";
import { EMPTY_TREE } from "#git/objects/diffs.ts";
import { allLines } from "#git/objects/output.ts";
import { GitFailed, type Repository } from "#git/storages/storage.ts";
import { DIRECTORY, withImporter } from "./fast-import.ts";

/** The trees of a three-way merge. */
interface Trees {
  readonly base: string;
  readonly ours: string;
  readonly theirs: string;
}

/** The trees that apply the changes of a commit to another tree; a merge is compared with its first parent. */
export async function treesToCherryPick(repository: Repository, commit: Commit, ours: string): Promise<Trees> {
  return { base: await treeBefore(repository, commit), ours, theirs: commit.tree };
}

/** The trees that undo the changes of a commit. */
export async function treesToRevert(repository: Repository, commit: Commit, ours: string): Promise<Trees> {
  return { base: commit.tree, ours, theirs: await treeBefore(repository, commit) };
}

async function treeBefore(repository: Repository, { parents: [parent] }: Commit): Promise<string> {
  if (parent === undefined) return EMPTY_TREE;
  return (await repository.objects.info(`${parent}^{tree}`))?.id ?? EMPTY_TREE;
}

const PLACEHOLDER = { name: "Fairlead", email: "", at: 0, zone: 0 };

/**
 * Merges trees and returns the id of the result, or undefined on a conflict. Git merges only commits, so the trees are
 * wrapped in commits that no ref ever points to.
 */
export async function mergeTrees(repository: Repository, trees: Trees): Promise<string | undefined> {
  const [ours, theirs] = await withImporter(repository, async ({ write }) => {
    const wrap = (tree: string, parent: string | undefined) =>
      write({
        parent,
        message: "",
        author: PLACEHOLDER,
        committer: PLACEHOLDER,
        changes: [{ path: "", mode: DIRECTORY, id: tree }],
      });
    const base = await wrap(trees.base, undefined);
    return [await wrap(trees.ours, base), await wrap(trees.theirs, base)];
  });
  try {
    const options = ["--write-tree", "--no-messages", "--name-only"];
    const [tree] = await allLines(repository, { command: "merge-tree", options, values: [ours, theirs] });
    return tree;
  } catch (error) {
    // Git reports conflicts by this status.
    if (error instanceof GitFailed && error.exitCode === 1) return undefined;
    throw error;
  }
}
