import { inRepository } from "#access/code.ts";
import { readCommit } from "#git/objects/commits.ts";
import { EMPTY_TREE, MOST_FILES, readDiff, statsOf } from "#git/objects/diffs.ts";
import { countCommits } from "#git/objects/history.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { missing } from "#lib/refusal.ts";
import { answerBudget } from "#resources/repositories/answer-budget.ts";
import { addressOf, type Asking, openAt } from "#resources/repositories/reading.ts";
import {
  Commit,
  CommitDetail,
  CommitRef,
  CommitSequence,
  DiffOfFile,
  fitCommit,
  fitDiffs,
  ListedCommit,
  presentDetail,
} from "./entity.ts";
import { commitPage, refPage } from "./list.ts";
import { CommitFilters, CommitId, CommitView, DiffView, RefFilters, SequenceView } from "./params.ts";

const access = inRepository("read", { scopes: ["read_repository"] });

export const commits = {
  list: endpoint({
    method: "GET",
    path: "/projects/:id/repository/commits",
    summary: "List commits",
    access,
    params: CommitFilters,
    returns: pageOf(ListedCommit, { id: "id" }),
    handle: ({ page, params, setHeader, ...asking }) => commitPage(asking, params, page, answerBudget(setHeader)),
  }),

  get: endpoint({
    method: "GET",
    path: "/projects/:id/repository/commits/:sha",
    summary: "Get a commit",
    access,
    params: CommitView,
    returns: CommitDetail,
    async handle({ params, setHeader, ...asking }) {
      const { repository, commit } = await openCommit(asking, params.sha);
      const stats = params.stats ? await statsOf(repository, commit) : undefined;
      const around = { address: await addressOf(asking), projectId: asking.project.id, stats };
      return fitCommit(answerBudget(setHeader), commit, (form) => presentDetail(form, around));
    },
  }),

  diff: endpoint({
    method: "GET",
    path: "/projects/:id/repository/commits/:sha/diff",
    summary: "Get what a commit changed",
    access,
    params: DiffView,
    returns: pageOf(DiffOfFile, { id: "new_path" }),
    async handle({ params, page, setHeader, ...asking }) {
      const { repository, commit } = await openCommit(asking, params.sha);
      const between = { from: commit.parents[0] ?? EMPTY_TREE, to: commit.id };
      const files = await page.found(async ({ skip, limit }) => {
        const { files, total } = await readDiff(repository, between, { skip, limit });
        return { rows: files, total, more: Math.min(total, MOST_FILES) > skip + limit };
      });
      return fitDiffs(answerBudget(setHeader), files, params.unidiff ?? false);
    },
  }),

  refs: endpoint({
    method: "GET",
    path: "/projects/:id/repository/commits/:sha/refs",
    summary: "List the branches and tags that a commit is in",
    access,
    params: RefFilters,
    returns: pageOf(CommitRef, { id: "name" }),
    async handle({ params, page, ...asking }) {
      const { repository, commit } = await openCommit(asking, params.sha);
      const rows = await page.found((wanted) => refPage(repository, commit.id, params.type, wanted));
      return [...rows];
    },
  }),

  sequence: endpoint({
    method: "GET",
    path: "/projects/:id/repository/commits/:sha/sequence",
    summary: "Count the commits that lead to one, itself included",
    access,
    params: SequenceView,
    returns: CommitSequence,
    async handle({ params, ...asking }) {
      const { repository, commit } = await openAt(asking, params.sha, "Commit");
      return { count: await countCommits(repository, { from: commit, firstParent: params.first_parent }) };
    },
  }),

  signature: endpoint({
    method: "GET",
    path: "/projects/:id/repository/commits/:sha/signature",
    summary: "Get the verified signature of a commit, of which there is none",
    access,
    params: CommitId,
    returns: Commit,
    async handle({ params, ...asking }) {
      await openAt(asking, params.sha, "Commit");
      throw missing("Signature");
    },
  }),
};

async function openCommit(asking: Asking, name: string) {
  const { repository, commit: id } = await openAt(asking, name, "Commit");
  const commit = await readCommit(repository, id);
  if (!commit) throw missing("Commit");
  return { repository, commit };
}
