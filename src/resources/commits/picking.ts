import { type Commit, readCommit, titleOf } from "#git/objects/commits.ts";
import { resolveCommit } from "#git/objects/names.ts";
import { DIRECTORY, importing, type NewCommit } from "#git/writing/importing.ts";
import { mergedTree, treesToPick, treesToRevert } from "#git/writing/picking.ts";
import { invalid, missing, Refusal } from "#lib/refusal.ts";
import {
  type CodeWriting,
  committerOf,
  isShortName,
  openToWrite,
  targetOfRef,
} from "#resources/repositories/writing.ts";
import { putOnBranch } from "./actions.ts";

interface Picking {
  /** The commit that is done again or undone. */
  readonly sha: string;
  readonly branch: string;
  /** Whether only to find out if it could be done. */
  readonly dryRun: boolean;
  readonly message?: string | undefined;
}

interface Way {
  readonly trees: typeof treesToPick;
  told(commit: Commit, committer: NewCommit["committer"]): Pick<NewCommit, "message" | "author">;
}

/** Makes a commit on a branch that does what another one did. */
export const cherryPick = (writing: CodeWriting, picking: Picking) =>
  pick(writing, picking, {
    trees: treesToPick,
    told: ({ id, message, author }) => ({
      author,
      message: picking.message ?? `${message.trimEnd()}\n\n(cherry picked from commit ${id})`,
    }),
  });

/** Makes a commit on a branch that undoes what another one did. */
export const revertCommit = (writing: CodeWriting, picking: Picking) =>
  pick(writing, picking, {
    trees: treesToRevert,
    told: ({ id, message }, committer) => ({
      author: committer,
      message: `Revert "${titleOf(message)}"\n\nThis reverts commit ${id}`,
    }),
  });

async function pick(writing: CodeWriting, { sha, branch, dryRun }: Picking, { trees, told }: Way) {
  if (!isShortName(branch)) throw missing("Branch");
  const opened = await openToWrite(writing);
  const { repository } = opened;
  const id = await resolveCommit(repository, sha);
  const commit = id === undefined ? undefined : await readCommit(repository, id);
  if (!commit) throw missing("Commit");
  if (commit.truncated) throw new Refusal("too large", "The commit is too large for this");
  const committer = await committerOf(writing);

  const treeOn = async (head: string | undefined) => {
    const ours = head && (await repository.objects.info(`${head}^{tree}`));
    if (!ours) throw missing("Branch");
    const tree = await mergedTree(repository, await trees(repository, commit, ours.id));
    if (tree === undefined) throw invalid("The branch changed the same lines otherwise: this has to be done by hand");
    if (tree === ours.id) throw invalid("The branch would not change by this");
    return tree;
  };
  const make = async (head: string | undefined) => {
    const changes = [{ path: "", mode: DIRECTORY, id: await treeOn(head) }];
    return importing(repository, ({ write }) =>
      write({ parent: head, committer, changes, ...told(commit, committer) }),
    );
  };
  if (!dryRun) return { repository, id: await putOnBranch(writing, opened, branch, make) };
  await treeOn(await targetOfRef(repository, `refs/heads/${branch}`));
  return undefined;
}
