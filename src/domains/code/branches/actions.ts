import type { Static } from "typebox";
import { resolveCommit } from "#git/objects/names.ts";
import { allLines } from "#git/objects/output.ts";
import type { RefChange } from "#git/push-commands.ts";
import { ZERO_ID } from "#git/refs.ts";
import type { Repository } from "#git/storages/storage.ts";
import { invalid, missing, Refusal } from "#lib/refusal.ts";
import { changeRefs } from "#domains/storage/pushes/change-refs.ts";
import type { PushAccess } from "#domains/storage/pushes/access.ts";
import {
  type CodeWriteRequest,
  createRef,
  deleteRef,
  isShortName,
  authorizeWrite,
  targetOfRef,
} from "#domains/code/repository/writing.ts";
import type { Services } from "#services.ts";
import type { NewBranch } from "./params.ts";

/** Creates a branch at another branch, a tag or a commit. */
export async function createBranch(
  writing: CodeWriteRequest,
  { branch, ref: start }: Static<typeof NewBranch>,
): Promise<Repository> {
  if (!isShortName(branch)) throw invalid("Branch name is invalid");
  const access = await authorizeWrite(writing);
  const { repository } = access;
  const id = await resolveCommit(repository, start);
  if (id === undefined) throw invalid(`Invalid reference name: ${start}`);
  const created = { ref: `refs/heads/${branch}`, id, details: { branch, commit_id: id } };
  await createRef(writing, access, created, "Branch already exists");
  return repository;
}

export async function deleteBranch(writing: CodeWriteRequest, branch: string) {
  if (!(await deleteRef(writing, "heads", branch, { branch }))) throw missing("Branch");
}

/** Branches that are deleted in one transaction of git: all of them, or none if one has moved. */
const BATCH_SIZE = 100;
/** Branches that one job deletes; the next request continues. */
const MAX_DELETED_BRANCHES = 10_000;

/** Deletes the branches that are merged into the default branch. */
export async function deleteMergedBranches(services: Services, access: PushAccess, signal: AbortSignal) {
  const { owner, repository } = access;
  const defaultRef = `refs/heads/${owner.default_branch ?? ""}`;
  const into = owner.default_branch === null ? undefined : await targetOfRef(repository, defaultRef);
  if (into === undefined) return;
  const lines = await allLines(repository, {
    command: "for-each-ref",
    options: [`--merged=${into}`, `--count=${MAX_DELETED_BRANCHES}`, "--format=%(objectname) %(refname)"],
    values: ["refs/heads/"],
  });
  const changes = lines
    .map((line) => ({ ref: line.slice(41), oldId: line.slice(0, 40), newId: ZERO_ID }))
    .filter(({ ref }) => ref !== defaultRef);
  for (let at = 0; at < changes.length && !signal.aborted; at += BATCH_SIZE) {
    await deleteBatch(services, access, changes.slice(at, at + BATCH_SIZE));
  }
}

/** Deletes branches, or one by one if that fails; one that has moved may no longer be merged and stays. */
async function deleteBatch(services: Services, access: PushAccess, changes: readonly RefChange[]) {
  // A refused branch is skipped; a refused user ends the job.
  await access.reauthorize([]);
  try {
    await changeRefs(services, access, changes);
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
    if (changes.length > 1) for (const change of changes) await deleteBatch(services, access, [change]);
  }
}
