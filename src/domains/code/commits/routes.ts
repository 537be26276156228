import Type, { type Static } from "typebox";
import { inRepository } from "#access/code.ts";
import { readCommit } from "#git/objects/commits.ts";
import { EMPTY_TREE, MAX_DIFF_FILES, readDiff, statsOf } from "#git/objects/diffs.ts";
import { countCommits } from "#git/objects/history.ts";
import { endpoint } from "#http/endpoint.ts";
import { isObjectId } from "#git/refs.ts";
import { pageOf } from "#http/paging.ts";
import { badRequest, missing } from "#lib/refusal.ts";
import { answerBudget } from "#domains/code/repository/answer-budget.ts";
import { addressOf, type CodeRequest, openAt } from "#domains/code/repository/reading.ts";
import { resolveProject } from "#access/paths.ts";
import type { Repository } from "#git/storages/storage.ts";
import type { CodeWriteRequest } from "#domains/code/repository/writing.ts";
import {
  Commit,
  CommitDetail,
  CommitRef,
  CommitSequence,
  Diff,
  fitCommit,
  fitDiffs,
  ListedCommit,
  presentCommit,
  presentDetail,
} from "./entity.ts";
import { commitPage, refPage } from "./list.ts";
import {
  actionOf,
  authorOf,
  CommitFilters,
  CommitId,
  CommitView,
  DiffView,
  unchangedFilesOf,
  MAX_COMMIT_BODY_BYTES,
  NewCommit,
  PickedCommit,
  RefFilters,
  RevertedCommit,
  SequenceView,
} from "./params.ts";
import { createCommit } from "./actions.ts";
import { cherryPick, revertCommit } from "./cherry-pick.ts";

const readAccess = inRepository("read", { scopes: ["read_repository"] });

const DryRun = Type.Object({ dry_run: Type.Literal("success") }, { additionalProperties: false, title: "DryRun" });

const pushAccess = inRepository("push");

export const commits = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/repository/commits",
    summary: "List commits",
    access: readAccess,
    params: CommitFilters,
    returns: pageOf(ListedCommit, { id: "id" }),
    handle: ({ page, params, setHeader, ...request }) => commitPage(request, params, page, answerBudget(setHeader)),
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/repository/commits/:sha",
    formatSuffixAfter: isObjectId,
    summary: "Get a commit",
    access: readAccess,
    params: CommitView,
    returns: CommitDetail,
    async handle({ params, setHeader, ...request }) {
      const { repository, commit } = await openCommit(request, params.sha);
      const stats = params.stats ? await statsOf(repository, commit) : undefined;
      const context = { address: await addressOf(request), projectId: request.project.id, stats };
      return fitCommit(answerBudget(setHeader), commit, (form) => presentDetail(form, context));
    },
  }),

  diff: endpoint({
    method: "GET",
    path: "/projects/:id/repository/commits/:sha/diff",
    summary: "Get the diff of a commit",
    access: readAccess,
    params: DiffView,
    returns: pageOf(Diff, { id: "new_path" }),
    async handle({ params, page, setHeader, ...request }) {
      const { repository, commit } = await openCommit(request, params.sha);
      const between = { from: commit.parents[0] ?? EMPTY_TREE, to: commit.id };
      const files = await page.slice(async ({ skip, limit }) => {
        const { files, total } = await readDiff(repository, between, { skip, limit });
        return { rows: files, total, more: Math.min(total, MAX_DIFF_FILES) > skip + limit };
      });
      return fitDiffs(answerBudget(setHeader), files, params.unidiff ?? false);
    },
  }),

  refs: endpoint({
    method: "GET",
    path: "/projects/:id/repository/commits/:sha/refs",
    summary: "List the branches and tags that contain a commit",
    access: readAccess,
    params: RefFilters,
    returns: pageOf(CommitRef, { id: "name" }),
    async handle({ params, page, ...request }) {
      const { repository, commit } = await openCommit(request, params.sha);
      const rows = await page.slice((wanted) => refPage(repository, commit.id, params.type, wanted));
      return [...rows];
    },
  }),

  sequence: endpoint({
    method: "GET",
    path: "/projects/:id/repository/commits/:sha/sequence",
    summary: "Count a commit and its ancestors",
    access: readAccess,
    params: SequenceView,
    returns: CommitSequence,
    async handle({ params, ...request }) {
      const { repository, commit } = await openAt(request, params.sha, "Commit");
      return { count: await countCommits(repository, { from: commit, firstParent: params.first_parent }) };
    },
  }),

  signature: endpoint({
    method: "GET",
    path: "/projects/:id/repository/commits/:sha/signature",
    summary: "Get the verified signature of a commit; there is none yet",
    access: readAccess,
    params: CommitId,
    returns: Commit,
    async handle({ params, ...request }) {
      await openAt(request, params.sha, "Commit");
      throw missing("Signature");
    },
  }),

  create: endpoint({
    method: "POST",
    path: "/projects/:id/repository/commits",
    summary: "Create a commit with several actions",
    access: pushAccess,
    params: NewCommit,
    maxBodyBytes: MAX_COMMIT_BODY_BYTES,
    transaction: "own",
    returns: CommitDetail,
    audit: "commit_created",
    async handle({ params, setHeader, ...writing }) {
      await refuseOtherProject(writing, params.start_project);
      const { repository, id } = await createCommit(writing, commitRequestOf(params));
      const commit = await readCreated(repository, id);
      const stats = params.stats ? await statsOf(repository, commit) : undefined;
      const context = { address: await addressOf(writing), projectId: writing.project.id, stats };
      return fitCommit(answerBudget(setHeader), commit, (form) => presentDetail(form, context));
    },
  }),

  cherryPick: endpoint({
    method: "POST",
    path: "/projects/:id/repository/commits/:sha/cherry_pick",
    summary: "Cherry-pick a commit",
    access: pushAccess,
    params: PickedCommit,
    transaction: "own",
    returns: Type.Union([Commit, DryRun]),
    audit: "commit_cherry_picked",
    async handle({ params: { sha, branch, dry_run: dryRun, message }, ...writing }) {
      return presentPicked(writing, await cherryPick(writing, { sha, branch, dryRun, message }));
    },
  }),

  revert: endpoint({
    method: "POST",
    path: "/projects/:id/repository/commits/:sha/revert",
    summary: "Revert a commit",
    access: pushAccess,
    params: RevertedCommit,
    transaction: "own",
    returns: Type.Union([Commit, DryRun]),
    audit: "commit_reverted",
    async handle({ params: { sha, branch, dry_run: dryRun }, ...writing }) {
      return presentPicked(writing, await revertCommit(writing, { sha, branch, dryRun }));
    },
  }),
};

async function openCommit(request: CodeRequest, name: string) {
  const { repository, commit: id } = await openAt(request, name, "Commit");
  const commit = await readCommit(repository, id);
  if (!commit) throw missing("Commit");
  return { repository, commit };
}

const commitRequestOf = (params: Static<typeof NewCommit>) => ({
  branch: params.branch,
  start: startOf(params),
  force: params.force,
  message: params.commit_message,
  author: authorOf(params),
  actions: params.actions.map(actionOf),
  unchanged: params.actions.flatMap(unchangedFilesOf),
});

function startOf({ start_branch, start_sha }: Static<typeof NewCommit>) {
  if (start_branch !== undefined) return { branch: start_branch };
  return start_sha === undefined ? undefined : { commit: start_sha };
}

async function refuseOtherProject({ services, project }: CodeWriteRequest, named: string | undefined) {
  if (named === undefined || (await resolveProject(services.db, named)).id === project.id) return;
  throw badRequest("start_project can only be the project itself");
}

async function readCreated(repository: Repository, id: string) {
  const commit = await readCommit(repository, id);
  if (!commit) throw missing("Commit");
  return commit;
}

type Picked = Awaited<ReturnType<typeof cherryPick>>;
type PickContext = CodeWriteRequest & {
  readonly site: string;
  setStatus(status: number): void;
  setHeader(name: string, value: string): void;
};

async function presentPicked(
  writing: PickContext,
  created: Picked,
): Promise<Static<typeof Commit> | Static<typeof DryRun>> {
  if (created) {
    const [commit, address] = [await readCreated(created.repository, created.id), await addressOf(writing)];
    return fitCommit(answerBudget(writing.setHeader), commit, (form) => presentCommit(form, address));
  }
  writing.setStatus(200);
  return { dry_run: "success" };
}
