import type { Actor } from "#access/actor.ts";
import { codeProblem } from "#access/code.ts";
import { type Commit, readAllowance, readCommit } from "#git/objects/commits.ts";
import { resolveCommit } from "#git/objects/names.ts";
import { mergedBranches, type Ref } from "#git/objects/refs.ts";
import { isRefName } from "#git/refs.ts";
import type { Repository } from "#git/storages/storage.ts";
import { missing } from "#lib/refusal.ts";
import { formsOf, MAX_LISTED_MESSAGE_BYTES } from "#resources/commits/entity.ts";
import { answerBudget, fitRows, MAX_ANSWER_BYTES } from "#resources/repositories/answer-budget.ts";
import { addressOf, type Asking, namedCommit } from "#resources/repositories/reading.ts";
import { presentBranch } from "./entity.ts";

type BranchesAsking = Asking & { readonly actor: Actor | null; setHeader(name: string, value: string): void };

/** Branches as they are told; one process of git looks which of them are merged, whatever their number. */
export async function describeBranches(
  asking: BranchesAsking,
  repository: Repository,
  refs: readonly Ref[],
  messageBytes = MAX_LISTED_MESSAGE_BYTES,
) {
  const { project, actor } = asking;
  const head = await namedCommit(repository, project);
  const names = refs.map(({ name }) => name).filter((name) => name !== project.default_branch);
  const merged = head === undefined ? new Set<string>() : await mergedBranches(repository, head, names);
  const around = {
    defaultBranch: project.default_branch,
    canPush: codeProblem("push", actor, project) === undefined,
    address: await addressOf(asking),
  };
  const budget = answerBudget(asking.setHeader);
  const allows = readAllowance();
  return fitRows(budget, refs, async ({ name, id }) => {
    const found = await readCommit(repository, id, { messageBytes, allows });
    const present = (commit: Commit) => presentBranch({ name, commit, merged: merged.has(name) }, around);
    return found ? formsOf(budget, found, present) : [];
  });
}

/** One branch by its name, as it is told. */
export async function describeBranch(asking: BranchesAsking, repository: Repository, name: string) {
  const ref = `refs/heads/${name}`;
  const id = isRefName(ref) ? await resolveCommit(repository, ref) : undefined;
  const [branch] = id === undefined ? [] : await describeBranches(asking, repository, [{ name, id }], MAX_ANSWER_BYTES);
  if (!branch) throw missing("Branch");
  return branch;
}
