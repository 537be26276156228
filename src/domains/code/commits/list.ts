import type { Static } from "typebox";
import { type Commit, readAllowance, readCommit } from "#git/objects/commits.ts";
import { readStats } from "#git/objects/diffs.ts";
import { type History, listCommits } from "#git/objects/history.ts";
import { treePath } from "#git/objects/names.ts";
import { listRefs } from "#git/objects/refs.ts";
import type { Repository } from "#git/storages/storage.ts";
import type { Slice, Page, Paged, SliceRequest } from "#http/paging.ts";
import { missing } from "#lib/refusal.ts";
import { type AnswerBudget, fitRows } from "#domains/code/repository/answer-budget.ts";
import { repositoryOf } from "#domains/storage/repositories/location.ts";
import { addressOf, type CodeRequest, namedCommit } from "#domains/code/repository/reading.ts";
import {
  type CommitRef,
  formsOf,
  type ListedCommit,
  MAX_LISTED_MESSAGE_BYTES,
  presentCommit,
  presentStats,
} from "./entity.ts";
import type { CommitFilters } from "./params.ts";

type Filters = Static<typeof CommitFilters>;

/** A page of commits, without a total: counting would walk the whole history. */
export async function commitPage(
  request: CodeRequest,
  filters: Filters,
  page: Page<Paged<typeof ListedCommit>>,
  budget: AnswerBudget,
) {
  const repository = await repositoryOf(request.services, request.project, request.consumer);
  const history = await historyOf(repository, request, filters);
  const ids = await page.slice(async ({ skip, limit }) => {
    const found = history ? await listCommits(repository, history, { skip, limit: limit + 1 }) : [];
    return { rows: found.slice(0, limit), more: found.length > limit };
  });
  const address = await addressOf(request);
  const commits = await presentCommits(repository, ids, budget, (commit) =>
    presentCommit(commit, address, filters.trailers ?? false),
  );
  if (!filters.with_stats) return commits;
  const stats = await readStats(repository, commits);
  return commits.map((commit) => {
    const counted = stats.get(commit.id);
    return { ...commit, ...(counted && { stats: presentStats(counted) }) };
  });
}

/** Presents commits in the order of their ids; an id of another object is left out. */
export const presentCommits = <T>(
  repository: Repository,
  ids: readonly string[],
  budget: AnswerBudget,
  present: (commit: Commit) => T,
): Promise<T[]> => {
  const options = { messageBytes: MAX_LISTED_MESSAGE_BYTES, allows: readAllowance() };
  return fitRows(budget, ids, async (id) => {
    const commit = await readCommit(repository, id, options);
    return commit ? formsOf(budget, commit, present) : [];
  });
};

/** Returns undefined if there can be no commits: the repository is empty, or no tree can have the path. */
async function historyOf(
  repository: Repository,
  { project }: CodeRequest,
  filters: Filters,
): Promise<History | undefined> {
  const from = filters.all ? undefined : await namedCommit(repository, project, filters.ref_name);
  if (from === undefined && !filters.all) {
    if (filters.ref_name !== undefined) throw missing("Commit");
    return undefined;
  }
  const path = treePath(filters.path ?? "");
  if (path === undefined) return undefined;
  return {
    ...(from !== undefined && { from }),
    ...(path !== "" && { path }),
    since: secondsOf(filters.since),
    until: secondsOf(filters.until),
    author: filters.author,
    firstParent: filters.first_parent,
    topological: filters.order === "topo",
  };
}

const secondsOf = (time: string | undefined) =>
  time === undefined ? undefined : Math.max(Math.floor(Date.parse(time) / 1000), 0);

/** Branches first, then tags, each by name. */
export async function refPage(
  repository: Repository,
  contains: string,
  type: "branch" | "tag" | "all",
  { skip, limit }: SliceRequest,
): Promise<Slice<Static<typeof CommitRef>>> {
  const none = { rows: [], more: false, total: 0 };
  const list = (kind: "heads" | "tags", from: number, count: number) =>
    listRefs(repository, { kind, order: "refname", contains }, { skip: from, limit: count });
  const branches = type === "tag" ? none : await list("heads", skip, limit);
  const rest = limit - branches.rows.length;
  const tags = type === "branch" ? none : await list("tags", Math.max(skip - branches.total, 0), rest);
  return {
    rows: [
      ...branches.rows.map(({ name }) => ({ type: "branch" as const, name })),
      ...tags.rows.map(({ name }) => ({ type: "tag" as const, name })),
    ],
    total: branches.total + tags.total,
    more: branches.total + tags.total > skip + limit,
  };
}
