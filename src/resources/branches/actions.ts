import type { Static } from "typebox";
import { resolveCommit } from "#git/objects/names.ts";
import { allLines } from "#git/objects/output.ts";
import type { RefChange } from "#git/push-commands.ts";
import { ZERO_ID } from "#git/refs.ts";
import type { Repository } from "#git/storages/storage.ts";
import { invalid, missing, Refusal } from "#lib/refusal.ts";
import { changeRefs } from "#resources/repositories/change-refs.ts";
import type { PushAccess } from "#resources/repositories/opening.ts";
import { reauthorize } from "#resources/repositories/reauthorize.ts";
import {
  type CodeWriting,
  createRef,
  deleteRef,
  isShortName,
  openToWrite,
  targetOfRef,
} from "#resources/repositories/writing.ts";
import type { Services } from "#services.ts";
import type { NewBranch } from "./write-params.ts";

/** Makes a branch where another branch, a tag or a commit is. */
export async function createBranch(
  writing: CodeWriting,
  { branch, ref: start }: Static<typeof NewBranch>,
): Promise<Repository> {
  if (!isShortName(branch)) throw invalid("Branch name is invalid");
  const opened = await openToWrite(writing);
  const { repository } = opened;
  const id = await resolveCommit(repository, start);
  if (id === undefined) throw invalid(`Invalid reference name: ${start}`);
  const made = { ref: `refs/heads/${branch}`, id, details: { branch, commit_id: id } };
  await createRef(writing, opened, made, "Branch already exists");
  return repository;
}

export async function deleteBranch(writing: CodeWriting, branch: string) {
  if (!(await deleteRef(writing, "heads", branch, { branch }))) throw missing("Branch");
}

/** Branches that are removed at once: all of them, or none where one of them moved meanwhile. */
const AT_ONCE = 100;
/** How many one request removes at most; the next goes on. */
const MOST_REMOVED = 10_000;

/** Removes the branches that the default branch has all commits of. */
export async function deleteMergedBranches(services: Services, access: PushAccess, signal: AbortSignal) {
  const { project, repository } = access;
  const kept = `refs/heads/${project.default_branch ?? ""}`;
  const into = project.default_branch === null ? undefined : await targetOfRef(repository, kept);
  if (into === undefined) return;
  const lines = await allLines(repository, {
    command: "for-each-ref",
    options: [`--merged=${into}`, `--count=${MOST_REMOVED}`, "--format=%(objectname) %(refname)"],
    values: ["refs/heads/"],
  });
  const changes = lines
    .map((line) => ({ ref: line.slice(41), oldId: line.slice(0, 40), newId: ZERO_ID }))
    .filter(({ ref }) => ref !== kept);
  for (let at = 0; at < changes.length && !signal.aborted; at += AT_ONCE) {
    await removeSome(services, access, changes.slice(at, at + AT_ONCE));
  }
}

/** A branch that moved meanwhile is not merged any more as far as anybody knows, and stays. */
async function removeSome(services: Services, access: PushAccess, changes: readonly RefChange[]) {
  // A branch that is refused stays; a user who is ends all of it.
  await reauthorize(services, access, []);
  try {
    await changeRefs(services, access, changes);
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
    if (changes.length > 1) for (const change of changes) await removeSome(services, access, [change]);
  }
}
