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
import { Commit, fitCommit, fitDiffs, presentCommit } from "#resources/commits/entity.ts";
import { presentCommits } from "#resources/commits/list.ts";
import { Revision } from "#resources/commits/params.ts";
import { ProjectId } from "#resources/projects/params.ts";
import { type AnswerBudget, answerBudget } from "#resources/repositories/answer-budget.ts";
import { repositoryOf } from "#resources/repositories/place.ts";
import { addressOf, type Asking, namedCommit } from "#resources/repositories/reading.ts";
import { Comparison, Contributor } from "./entity.ts";

const access = inRepository("read", { scopes: ["read_repository"] });
const MOST_COMMITS = 1000;
/** What the files of a comparison leave to its commits. */
const RESERVED_FOR_COMMITS_BYTES = 1.5 * 1024 * 1024;
/** Contributors are counted among as many commits, the latest. */
const MOST_COUNTED = 50_000;

const Compared = Type.Object({
  ...ProjectId.properties,
  from: Revision,
  to: Revision,
  straight: Type.Optional(Type.Boolean({ description: "Compare the two as they are, not since they parted" })),
  unidiff: Flag,
});

export const comparisons = {
  compare: endpoint({
    method: "GET",
    path: "/projects/:id/repository/compare",
    summary: "Compare two branches, tags or commits",
    access,
    params: Compared,
    returns: Comparison,
    handle: ({ params, setHeader, ...asking }) => compare(asking, params, answerBudget(setHeader)),
  }),

  mergeBase: endpoint({
    method: "GET",
    path: "/projects/:id/repository/merge_base",
    summary: "Get the latest commit that branches, tags or commits have in common",
    access,
    params: Type.Object({ ...ProjectId.properties, refs: Type.Array(Revision, { minItems: 2, maxItems: 20 }) }),
    returns: Commit,
    async handle({ params, setHeader, ...asking }) {
      const repository = await repositoryOf(asking.services, asking.project, asking.consumer);
      const ids = await Promise.all(params.refs.map((name) => resolveCommit(repository, name)));
      const unknown = params.refs.filter((_, at) => ids[at] === undefined);
      if (unknown.length > 0) throw badRequest(`Could not find ref: ${unknown.join(", ")}`);
      const id = await mergeBase(
        repository,
        ids.filter((id) => id !== undefined),
      );
      const commit = id && (await readCommit(repository, id));
      if (!commit) throw missing("Merge Base");
      const address = await addressOf(asking);
      return fitCommit(answerBudget(setHeader), commit, (form) => presentCommit(form, address));
    },
  }),

  contributors: endpoint({
    method: "GET",
    path: "/projects/:id/repository/contributors",
    summary: "List who wrote the commits of a repository",
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
      const all = from === undefined ? none : await contributorsTo(repository, from, MOST_COUNTED);
      if (all.truncated) answerBudget(setHeader).markTruncated();
      const ordered = all.contributors.toSorted((a, b) => compareBy(a[params.order_by], b[params.order_by]));
      if (params.sort === "desc") ordered.reverse();
      const rows = await page.found(async ({ skip, limit }) => ({
        rows: ordered.slice(skip, skip + limit),
        total: ordered.length,
        more: ordered.length > skip + limit,
      }));
      return rows.map((row) => ({ ...row, additions: 0, deletions: 0 }));
    },
  }),
};

const compareBy = (a: string | number, b: string | number) => (a < b ? -1 : Number(a > b));

/** What came to `to` since it and `from` parted: commits from the oldest on, and how the files differ. */
async function compare(
  asking: Asking,
  { from, to, straight = false, unidiff = false }: Static<typeof Compared>,
  budget: AnswerBudget,
) {
  const repository = await repositoryOf(asking.services, asking.project, asking.consumer);
  const [base, head] = await Promise.all([
    namedCommit(repository, asking.project, from),
    namedCommit(repository, asking.project, to),
  ]);
  if (base === undefined || head === undefined) throw missing("Ref");
  const start = straight ? base : ((await mergeBase(repository, [base, head])) ?? EMPTY_TREE);
  const history = { from: head, without: base, reverse: true };
  const [ids, diff, address] = await Promise.all([
    listCommits(repository, history, { skip: 0, limit: MOST_COMMITS }),
    readDiff(repository, { from: start, to: head }),
    addressOf(asking),
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
