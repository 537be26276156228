import Type, { type Static } from "typebox";
import { inRepository } from "#access/code.ts";
import { readCommit } from "#git/objects/commits.ts";
import { EMPTY_TREE, readDiff } from "#git/objects/diffs.ts";
import { contributorsTo, listCommits, mergeBase } from "#git/objects/history.ts";
import { resolveCommit } from "#git/objects/names.ts";
import { endpoint } from "#http/endpoint.ts";
import { pageOf } from "#http/paging.ts";
import { Flag } from "#http/params/vocabulary.ts";
import { badRequest, missing } from "#lib/refusal.ts";
import { Commit, fitCommit, fitDiffs, presentCommit } from "#domains/code/commits/entity.ts";
import { presentCommits } from "#domains/code/commits/list.ts";
import { Revision } from "#domains/code/commits/params.ts";
import { ProjectId } from "#domains/organization/projects/params.ts";
import { type AnswerBudget, answerBudget } from "#domains/code/repository/answer-budget.ts";
import { repositoryOf } from "#domains/storage/repositories/location.ts";
import { addressOf, type CodeRequest, namedCommit } from "#domains/code/repository/reading.ts";
import { Comparison, Contributor } from "./entity.ts";

const access = inRepository("read", { scopes: ["read_repository"] });
const MAX_COMMITS = 1000;
/** Room in a response that the diffs leave to the commits. */
const RESERVED_FOR_COMMITS_BYTES = 1.5 * 1024 * 1024;
/** Contributors are counted in the latest commits only. */
const MAX_COUNTED_COMMITS = 50_000;

const CompareParams = Type.Object({
  ...ProjectId.properties,
  from: Revision,
  to: Revision,
  straight: Type.Optional(Type.Boolean({ description: "Compare the two directly instead of from their merge base" })),
  unidiff: Flag,
});

export const comparisons = {
  compare: endpoint({
    method: "GET",
    path: "/projects/:id/repository/compare",
    summary: "Compare two branches, tags or commits",
    access,
    params: CompareParams,
    returns: Comparison,
    handle: ({ params, setHeader, ...request }) => compare(request, params, answerBudget(setHeader)),
  }),

  mergeBase: endpoint({
    method: "GET",
    path: "/projects/:id/repository/merge_base",
    summary: "Get the merge base of branches, tags or commits",
    access,
    params: Type.Object({ ...ProjectId.properties, refs: Type.Array(Revision, { minItems: 2, maxItems: 20 }) }),
    returns: Commit,
    async handle({ params, setHeader, ...request }) {
      const repository = await repositoryOf(request.services, request.project, request.consumer);
      const ids = await Promise.all(params.refs.map((name) => resolveCommit(repository, name)));
      const unknown = params.refs.filter((_, at) => ids[at] === undefined);
      if (unknown.length > 0) throw badRequest(`Could not find ref: ${unknown.join(", ")}`);
      const id = await mergeBase(
        repository,
        ids.filter((id) => id !== undefined),
      );
      const commit = id && (await readCommit(repository, id));
      if (!commit) throw missing("Merge Base");
      const address = await addressOf(request);
      return fitCommit(answerBudget(setHeader), commit, (form) => presentCommit(form, address));
    },
  }),

  contributors: endpoint({
    method: "GET",
    path: "/projects/:id/repository/contributors",
    summary: "List the contributors to a repository",
    access,
    params: Type.Object({
      ...ProjectId.properties,
      ref: Type.Optional(Revision),
      order_by: Type.Enum(["commits", "name", "email"], { default: "commits" }),
      sort: Type.Enum(["asc", "desc"], { default: "asc" }),
    }),
    returns: pageOf(Contributor, { id: "email" }),
    async handle({ params, page, services, project, consumer, setHeader }) {
      const repository = await repositoryOf(services, project, consumer);
      const from = await namedCommit(repository, project, params.ref);
      if (from === undefined && params.ref !== undefined) throw missing("Commit");
      const none = { contributors: [], truncated: false };
      const all = from === undefined ? none : await contributorsTo(repository, from, MAX_COUNTED_COMMITS);
      if (all.truncated) answerBudget(setHeader).markTruncated();
      const ordered = all.contributors.toSorted((a, b) => compareBy(a[params.order_by], b[params.order_by]));
      if (params.sort === "desc") ordered.reverse();
      const rows = await page.slice(async ({ skip, limit }) => ({
        rows: ordered.slice(skip, skip + limit),
        total: ordered.length,
        more: ordered.length > skip + limit,
      }));
      return rows.map((row) => ({ ...row, additions: 0, deletions: 0 }));
    },
  }),
};

const compareBy = (a: string | number, b: string | number) => (a < b ? -1 : Number(a > b));

/** The commits of `to` that `from` does not have, oldest first, and the diffs since their merge base. */
async function compare(
  request: CodeRequest,
  { from, to, straight = false, unidiff = false }: Static<typeof CompareParams>,
  budget: AnswerBudget,
) {
  const repository = await repositoryOf(request.services, request.project, request.consumer);
  const [base, head] = await Promise.all([
    namedCommit(repository, request.project, from),
    namedCommit(repository, request.project, to),
  ]);
  if (base === undefined || head === undefined) throw missing("Ref");
  const start = straight ? base : ((await mergeBase(repository, [base, head])) ?? EMPTY_TREE);
  const history = { from: head, without: base, reverse: true };
  const [ids, diff, address] = await Promise.all([
    listCommits(repository, history, { skip: 0, limit: MAX_COMMITS }),
    readDiff(repository, { from: start, to: head }),
    addressOf(request),
  ]);
  const present = (some: readonly string[]) =>
    presentCommits(repository, some, budget, (commit) => presentCommit(commit, address));
  const [commit = null] = await present(ids.slice(-1));
  const diffs = fitDiffs(budget, diff.files, unidiff, RESERVED_FOR_COMMITS_BYTES);
  const commits = await present(ids);
  return {
    commit,
    commits,
    diffs,
    compare_timeout: diff.total > diffs.length || diffs.some(({ collapsed }) => collapsed),
    compare_same_ref: from === to,
    web_url: `${address}/-/compare/${base}...${head}`,
  };
}
