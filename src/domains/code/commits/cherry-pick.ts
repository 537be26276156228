import { type Commit, readCommit, titleOf } from "#git/objects/commits.ts";
import { resolveCommit } from "#git/objects/names.ts";
import { DIRECTORY, withImporter, type NewCommit } from "#git/writing/fast-import.ts";
import { mergeTrees, treesToCherryPick, treesToRevert } from "#git/writing/merge-trees.ts";
import { invalid, missing, Refusal } from "#lib/refusal.ts";
import {
  type CodeWriteRequest,
  committerOf,
  isShortName,
  authorizeWrite,
  targetOfRef,
} from "#domains/code/repository/writing.ts";
import { commitOnBranch } from "./actions.ts";

interface PickRequest {
  /** The commit to apply again or to revert. */
  readonly sha: string;
  readonly branch: string;
  /** Whether only to find out if it is possible. */
  readonly dryRun: boolean;
  readonly message?: string | undefined;
}

interface PickKind {
  readonly trees: typeof treesToCherryPick;
  describe(commit: Commit, committer: NewCommit["committer"]): Pick<NewCommit, "message" | "author">;
}

/** Applies the changes of a commit to a branch. */
export const cherryPick = (writing: CodeWriteRequest, request: PickRequest) =>
  pick(writing, request, {
    trees: treesToCherryPick,
    describe: ({ id, message, author }) => ({
      author,
      message: request.message ?? `${message.trimEnd()}\n\n(cherry picked from commit ${id})`,
    }),
  });

/** Reverts the changes of a commit on a branch. */
export const revertCommit = (writing: CodeWriteRequest, request: PickRequest) =>
  pick(writing, request, {
    trees: treesToRevert,
    describe: ({ id, message }, committer) => ({
      author: committer,
      message: `Revert "${titleOf(message)}"\n\nThis reverts commit ${id}`,
    }),
  });

async function pick(writing: CodeWriteRequest, { sha, branch, dryRun }: PickRequest, { trees, describe }: PickKind) {
  if (!isShortName(branch)) throw missing("Branch");
  const access = await authorizeWrite(writing);
  const { repository } = access;
  const id = await resolveCommit(repository, sha);
  const commit = id === undefined ? undefined : await readCommit(repository, id);
  if (!commit) throw missing("Commit");
  if (commit.truncated) throw new Refusal("too large", "The commit is too large for this");
  const committer = await committerOf(writing);

  const treeOn = async (head: string | undefined) => {
    const ours = head && (await repository.objects.info(`${head}^{tree}`));
    if (!ours) throw missing("Branch");
    const tree = await mergeTrees(repository, await trees(repository, commit, ours.id));
    if (tree === undefined) throw invalid("The branch changed the same lines otherwise: this has to be done by hand");
    if (tree === ours.id) throw invalid("The branch would not change by this");
    return tree;
  };
  const writePicked = async (head: string | undefined) => {
    const changes = [{ path: "", mode: DIRECTORY, id: await treeOn(head) }];
    return withImporter(repository, ({ write }) =>
      write({ parent: head, committer, changes, ...describe(commit, committer) }),
    );
  };
  if (!dryRun) return { repository, id: await commitOnBranch(writing, access, branch, writePicked) };
  await treeOn(await targetOfRef(repository, `refs/heads/${branch}`));
  return undefined;
}
