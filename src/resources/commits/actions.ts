import { setTimeout as sleep } from "node:timers/promises";
import type { Signature } from "#git/objects/commits.ts";
import { resolveCommit } from "#git/objects/names.ts";
import { allLines } from "#git/objects/output.ts";
import { ZERO_ID } from "#git/refs.ts";
import type { Repository } from "#git/storages/storage.ts";
import { type Entry, importing, type Importer } from "#git/writing/importing.ts";
import type { Person } from "#git/writing/people.ts";
import { type Action, checkActions, pathsOf, planOf } from "#git/writing/plan.ts";
import { invalid, Refusal } from "#lib/refusal.ts";
import type { PushAccess } from "#resources/repositories/opening.ts";
import {
  changeRef,
  type CodeWriting,
  committerOf,
  isShortName,
  openToWrite,
  targetOfRef,
} from "#resources/repositories/writing.ts";

/** A commit that somebody wants on a branch. */
export interface CommitWish {
  readonly branch: string;
  /** Where a branch begins that is not there, or shall begin anew. */
  readonly start: { readonly branch: string } | { readonly commit: string } | undefined;
  readonly force: boolean;
  readonly message: string;
  /** What of the author is not the caller's. */
  readonly author: Partial<Person>;
  readonly actions: readonly Action[];
  /** Files that must be as they were in a commit. */
  readonly unchanged: readonly { readonly path: string; readonly since: string }[];
}

/** Makes a commit on a branch. */
export async function commitTo(
  writing: CodeWriting,
  wish: CommitWish,
): Promise<{ repository: Repository; id: string }> {
  if (!isShortName(wish.branch)) throw invalid("Branch name is invalid");
  checkActions(wish.actions);
  const opened = await openToWrite(writing);
  const committer = await committerOf(writing);
  const make = (head: string | undefined) => makeCommit(opened.repository, wish, committer, head);
  return { repository: opened.repository, id: await putOnBranch(writing, opened, wish.branch, make) };
}

/** How often a commit is made again when another one came first. */
const MOST_TRIES = 10;

/** Puts what is made on a branch; made again on top of whatever came first there, as long as that can be done. */
export function putOnBranch(
  writing: CodeWriting,
  opened: PushAccess,
  branch: string,
  make: (head: string | undefined) => Promise<string>,
): Promise<string> {
  const { repository } = opened;
  const ref = `refs/heads/${branch}`;
  return writing.services.git.inTurn(repository, ref, async () => {
    for (let tries = 1; ; tries++) {
      const head = await targetOfRef(repository, ref);
      const id = await make(head);
      try {
        await changeRef(writing, opened, { ref, oldId: head ?? ZERO_ID, newId: id }, { branch, commit_id: id });
        return id;
      } catch (error) {
        const lost =
          error instanceof Refusal && error.kind === "conflict" && (await targetOfRef(repository, ref)) !== head;
        if (!lost || tries === MOST_TRIES) throw error;
        // Two that met once would meet again if both waited equally long.
        await sleep(Math.random() * 20 * tries);
      }
    }
  });
}

async function makeCommit(repository: Repository, wish: CommitWish, committer: Signature, head: string | undefined) {
  const parent = await parentOf(repository, wish, head);
  return importing(repository, async (importer) => {
    const before = parent === undefined ? new Map<string, Entry>() : await importer.look(parent, pathsOf(wish.actions));
    await refuseChanged(repository, importer, wish, before);
    const changes = planOf(wish.actions, before);
    const author = { ...committer, ...wish.author };
    return importer.write({ parent, message: wish.message, author, committer, changes });
  });
}

/** The commit that the new one stands on; none makes the first of a repository that is empty. */
async function parentOf(
  repository: Repository,
  { branch, start, force }: CommitWish,
  head: string | undefined,
): Promise<string | undefined> {
  const elsewhere = start && !("branch" in start && start.branch === branch) ? start : undefined;
  if (elsewhere && head !== undefined && !force) throw invalid(`A branch called '${branch}' already exists`);
  const found = elsewhere ? await startOf(repository, elsewhere) : head;
  if (found !== undefined || (await isEmpty(repository))) return found;
  if (elsewhere) throw invalid("The start of the branch was not found");
  throw invalid("You can only create or edit files when you are on a branch");
}

async function startOf(repository: Repository, start: NonNullable<CommitWish["start"]>): Promise<string | undefined> {
  if ("commit" in start) return resolveCommit(repository, start.commit);
  return isShortName(start.branch) ? targetOfRef(repository, `refs/heads/${start.branch}`) : undefined;
}

async function isEmpty(repository: Repository): Promise<boolean> {
  const options = ["--count=1", "--format=%(refname)"];
  return (await allLines(repository, { command: "for-each-ref", options, values: ["refs/heads/"] })).length === 0;
}

/** What counts is whether the file is as it was, whoever else committed meanwhile. */
async function refuseChanged(
  repository: Repository,
  { look }: Importer,
  { unchanged }: CommitWish,
  before: ReadonlyMap<string, Entry>,
) {
  for (const { path, since } of unchanged) {
    const commit = await resolveCommit(repository, since);
    const then = commit && (await look(commit, [path])).get(path);
    if (!then || then.id !== before.get(path)?.id) throw invalid("The file has changed since you started editing it");
  }
}
