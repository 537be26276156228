import { setTimeout as sleep } from "node:timers/promises";
import type { Signature } from "#git/objects/commits.ts";
import { resolveCommit } from "#git/objects/names.ts";
import { allLines } from "#git/objects/output.ts";
import { ZERO_ID } from "#git/refs.ts";
import type { Repository } from "#git/storages/storage.ts";
import { type Entry, withImporter, type Importer } from "#git/writing/fast-import.ts";
import type { Person } from "#git/writing/signatures.ts";
import { type Action, checkActions, pathsOf, planChanges } from "#git/writing/plan.ts";
import { invalid, Refusal } from "#lib/refusal.ts";
import type { PushAccess } from "#domains/storage/pushes/access.ts";
import { ONLY_BRANCH } from "#domains/storage/repositories/location.ts";
import {
  changeRef,
  type CodeWriteRequest,
  type RepositoryWriteRequest,
  committerOf,
  isShortName,
  authorizeWrite,
  targetOfRef,
} from "#domains/code/repository/writing.ts";

/** A commit to create on a branch. */
export interface CommitRequest {
  readonly branch: string;
  /** Where to start a new branch, or with `force` an existing one anew. */
  readonly start: { readonly branch: string } | { readonly commit: string } | undefined;
  readonly force: boolean;
  readonly message: string;
  /** Replaces the name or email address of the caller. */
  readonly author: Partial<Person>;
  readonly actions: readonly Action[];
  /** Files that must not have changed since a commit. */
  readonly unchanged: readonly { readonly path: string; readonly since: string }[];
}

export async function createCommit(
  writing: CodeWriteRequest,
  request: CommitRequest,
): Promise<{ repository: Repository; id: string }> {
  if (!isShortName(request.branch)) throw invalid("Branch name is invalid");
  checkActions(request.actions);
  const access = await authorizeWrite(writing);
  return { repository: access.repository, id: await commitTo(access, writing, request) };
}

/** Creates a commit in a repository that may be written; its actions are checked already. */
async function commitTo(access: PushAccess, writing: RepositoryWriteRequest, request: CommitRequest): Promise<string> {
  const committer = await committerOf(writing);
  const write = (head: string | undefined) => writeCommit(access.repository, request, committer, head);
  return commitOnBranch(writing, access, request.branch, write);
}

/** The same in a repository with one branch. */
export const commitToOnlyBranch = (
  access: PushAccess,
  writing: RepositoryWriteRequest,
  message: string,
  actions: readonly Action[],
): Promise<string> =>
  commitTo(access, writing, {
    branch: ONLY_BRANCH,
    start: undefined,
    force: false,
    message,
    author: {},
    actions,
    unchanged: [],
  });

/** How often a commit is rewritten because another one came first. */
const MAX_ATTEMPTS = 10;

/** Moves a branch to the commit that `write` makes of its head; writes it again if the branch has moved meanwhile. */
export function commitOnBranch(
  writing: RepositoryWriteRequest,
  access: PushAccess,
  branch: string,
  write: (head: string | undefined) => Promise<string>,
): Promise<string> {
  const { repository } = access;
  const ref = `refs/heads/${branch}`;
  return writing.services.git.serializeWrites(repository, ref, async () => {
    for (let tries = 1; ; tries++) {
      const head = await targetOfRef(repository, ref);
      const id = await write(head);
      try {
        await changeRef(writing, access, { ref, oldId: head ?? ZERO_ID, newId: id }, { branch, commit_id: id });
        return id;
      } catch (error) {
        const lost =
          error instanceof Refusal && error.kind === "conflict" && (await targetOfRef(repository, ref)) !== head;
        if (!lost || tries === MAX_ATTEMPTS) throw error;
        // Waits a random time, so that two writers do not collide again.
        await sleep(Math.random() * 20 * tries);
      }
    }
  });
}

async function writeCommit(
  repository: Repository,
  request: CommitRequest,
  committer: Signature,
  head: string | undefined,
) {
  const parent = await parentOf(repository, request, head);
  return withImporter(repository, async (importer) => {
    const before =
      parent === undefined ? new Map<string, Entry>() : await importer.entriesAt(parent, pathsOf(request.actions));
    await refuseChanged(repository, importer, request, before);
    const changes = planChanges(request.actions, before);
    const author = { ...committer, ...request.author };
    return importer.write({ parent, message: request.message, author, committer, changes });
  });
}

/** The parent of the new commit; undefined for the first one of an empty repository. */
async function parentOf(
  repository: Repository,
  { branch, start, force }: CommitRequest,
  head: string | undefined,
): Promise<string | undefined> {
  const elsewhere = start && !("branch" in start && start.branch === branch) ? start : undefined;
  if (elsewhere && head !== undefined && !force) throw invalid(`A branch called '${branch}' already exists`);
  const found = elsewhere ? await startOf(repository, elsewhere) : head;
  if (found !== undefined || (await isEmpty(repository))) return found;
  if (elsewhere) throw invalid("The start of the branch was not found");
  throw invalid("You can only create or edit files when you are on a branch");
}

async function startOf(
  repository: Repository,
  start: NonNullable<CommitRequest["start"]>,
): Promise<string | undefined> {
  if ("commit" in start) return resolveCommit(repository, start.commit);
  return isShortName(start.branch) ? targetOfRef(repository, `refs/heads/${start.branch}`) : undefined;
}

async function isEmpty(repository: Repository): Promise<boolean> {
  const options = ["--count=1", "--format=%(refname)"];
  return (await allLines(repository, { command: "for-each-ref", options, values: ["refs/heads/"] })).length === 0;
}

/** Compares the files themselves, since other commits may not have touched them. */
async function refuseChanged(
  repository: Repository,
  { entriesAt }: Importer,
  { unchanged }: CommitRequest,
  before: ReadonlyMap<string, Entry>,
) {
  for (const { path, since } of unchanged) {
    const commit = await resolveCommit(repository, since);
    const then = commit && (await entriesAt(commit, [path])).get(path);
    if (!then || then.id !== before.get(path)?.id) throw invalid("The file has changed since you started editing it");
  }
}
