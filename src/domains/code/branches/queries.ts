import type { Actor } from "#access/principal.ts";
import { codeProblem } from "#access/code.ts";
import { type Commit, readAllowance, readCommit } from "#git/objects/commits.ts";
import { resolveCommit } from "#git/objects/names.ts";
import { mergedBranches, type Ref } from "#git/objects/refs.ts";
import { isRefName } from "#git/refs.ts";
import type { Repository } from "#git/storages/storage.ts";
import { missing } from "#lib/refusal.ts";
import { formsOf, MAX_LISTED_MESSAGE_BYTES } from "#domains/code/commits/entity.ts";
import { answerBudget, fitRows, MAX_ANSWER_BYTES } from "#domains/code/repository/answer-budget.ts";
import { addressOf, type CodeRequest, namedCommit } from "#domains/code/repository/reading.ts";
import { presentBranch } from "./entity.ts";

type BranchesRequest = CodeRequest & { readonly actor: Actor | null; setHeader(name: string, value: string): void };

/** Presents branches; one git process finds out which of them are merged. */
export async function describeBranches(
  request: BranchesRequest,
  repository: Repository,
  refs: readonly Ref[],
  messageBytes = MAX_LISTED_MESSAGE_BYTES,
) {
  const { project, actor } = request;
  const head = await namedCommit(repository, project);
  const names = refs.map(({ name }) => name).filter((name) => name !== project.default_branch);
  const merged = head === undefined ? new Set<string>() : await mergedBranches(repository, head, names);
  const context = {
    defaultBranch: project.default_branch,
    canPush: codeProblem("push", actor, project) === undefined,
    address: await addressOf(request),
  };
  const budget = answerBudget(request.setHeader);
  const allows = readAllowance();
  return fitRows(budget, refs, async ({ name, id }) => {
    const found = await readCommit(repository, id, { messageBytes, allows });
    const present = (commit: Commit) => presentBranch({ name, commit, merged: merged.has(name) }, context);
    return found ? formsOf(budget, found, present) : [];
  });
}

/** Presents a branch by its name. */
export async function describeBranch(request: BranchesRequest, repository: Repository, name: string) {
  const ref = `refs/heads/${name}`;
  const id = isRefName(ref) ? await resolveCommit(repository, ref) : undefined;
  const [branch] =
    id === undefined ? [] : await describeBranches(request, repository, [{ name, id }], MAX_ANSWER_BYTES);
  if (!branch) throw missing("Branch");
  return branch;
}
