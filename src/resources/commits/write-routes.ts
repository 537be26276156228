import Type, { type Static } from "typebox";
import { projectAddress } from "#access/addresses.ts";
import { inRepository } from "#access/code.ts";
import { readCommit } from "#git/objects/commits.ts";
import { statsOf } from "#git/objects/diffs.ts";
import type { Repository } from "#git/storages/storage.ts";
import { endpoint } from "#http/endpoint.ts";
import { badRequest, missing } from "#lib/refusal.ts";
import { answerBudget } from "#resources/repositories/answer-budget.ts";
import { addressOf } from "#resources/repositories/reading.ts";
import type { CodeWriting } from "#resources/repositories/writing.ts";
import { commitTo } from "./actions.ts";
import { Commit, CommitDetail, fitCommit, presentCommit, presentDetail } from "./entity.ts";
import { cherryPick, revertCommit } from "./picking.ts";
import {
  actionOf,
  authorOf,
  knownOf,
  MOST_COMMITTED,
  NewCommit,
  PickedCommit,
  RevertedCommit,
} from "./write-params.ts";

/** That it could be done. */
const DryRun = Type.Object({ dry_run: Type.Literal("success") }, { additionalProperties: false, title: "DryRun" });

const access = inRepository("push");

export const commitWrites = {
  create: endpoint({
    method: "POST",
    path: "/projects/:id/repository/commits",
    summary: "Create a commit of several files",
    access,
    params: NewCommit,
    mostBody: MOST_COMMITTED,
    transaction: "own",
    returns: CommitDetail,
    audit: "commit_created",
    async handle({ params, setHeader, ...writing }) {
      await refuseOtherProject(writing, params.start_project);
      const { repository, id } = await commitTo(writing, wishOf(params));
      const commit = await commitMade(repository, id);
      const stats = params.stats ? await statsOf(repository, commit) : undefined;
      const around = { address: await addressOf(writing), projectId: writing.project.id, stats };
      return fitCommit(answerBudget(setHeader), commit, (form) => presentDetail(form, around));
    },
  }),

  cherryPick: endpoint({
    method: "POST",
    path: "/projects/:id/repository/commits/:sha/cherry_pick",
    summary: "Do on a branch what a commit did",
    access,
    params: PickedCommit,
    transaction: "own",
    returns: Type.Union([Commit, DryRun]),
    audit: "commit_cherry_picked",
    async handle({ params: { sha, branch, dry_run: dryRun, message }, ...writing }) {
      return picked(writing, await cherryPick(writing, { sha, branch, dryRun, message }));
    },
  }),

  revert: endpoint({
    method: "POST",
    path: "/projects/:id/repository/commits/:sha/revert",
    summary: "Undo on a branch what a commit did",
    access,
    params: RevertedCommit,
    transaction: "own",
    returns: Type.Union([Commit, DryRun]),
    audit: "commit_reverted",
    async handle({ params: { sha, branch, dry_run: dryRun }, ...writing }) {
      return picked(writing, await revertCommit(writing, { sha, branch, dryRun }));
    },
  }),
};

const wishOf = (params: Static<typeof NewCommit>) => ({
  branch: params.branch,
  start: startOf(params),
  force: params.force,
  message: params.commit_message,
  author: authorOf(params),
  actions: params.actions.map(actionOf),
  unchanged: params.actions.flatMap(knownOf),
});

function startOf({ start_branch, start_sha }: Static<typeof NewCommit>) {
  if (start_branch !== undefined) return { branch: start_branch };
  return start_sha === undefined ? undefined : { commit: start_sha };
}

async function refuseOtherProject({ services, project }: CodeWriting, named: string | undefined) {
  if (named === undefined || (await projectAddress(services.db, named)).id === project.id) return;
  throw badRequest("start_project can only be the project itself");
}

async function commitMade(repository: Repository, id: string) {
  const commit = await readCommit(repository, id);
  if (!commit) throw missing("Commit");
  return commit;
}

type Picked = Awaited<ReturnType<typeof cherryPick>>;
type Picking = CodeWriting & {
  setStatus(status: number): void;
  setHeader(name: string, value: string): void;
};

async function picked(writing: Picking, made: Picked): Promise<Static<typeof Commit> | Static<typeof DryRun>> {
  if (made) {
    const [commit, address] = [await commitMade(made.repository, made.id), await addressOf(writing)];
    return fitCommit(answerBudget(writing.setHeader), commit, (form) => presentCommit(form, address));
  }
  writing.setStatus(200);
  return { dry_run: "success" };
}
