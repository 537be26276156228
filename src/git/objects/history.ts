import { GitFailed, type Repository } from "#git/storages/storage.ts";
import { Refusal } from "#lib/refusal.ts";
import { allLines, linesOf } from "./output.ts";

/** Selects commits of a history. */
export interface History {
  /** The tip to start from; by default all branches and tags. */
  readonly from?: string;
  /** Excludes this commit and its ancestors. */
  readonly without?: string;
  readonly path?: string | undefined;
  /** Seconds since 1970, both ends included. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** A part of the author's name or address. */
  readonly author?: string | undefined;
  readonly firstParent?: boolean | undefined;
  /** In topological order instead of by time. */
  readonly topological?: boolean | undefined;
  /** Reverses the order of the selected commits. */
  readonly reverse?: boolean;
}

/** The last change of a path is optional in an answer. */
const LAST_CHANGE_TIMEOUT_MS = 5_000;

/** The largest count that git accepts. */
const MAX_INT32 = 2 ** 31 - 1;

const callOf = (history: History, ...more: readonly string[]) =>
  ({
    command: "rev-list",
    options: [
      ...more,
      ...(history.from === undefined ? ["--branches", "--tags"] : []),
      ...(history.since === undefined ? [] : [`--max-age=${history.since}`]),
      ...(history.until === undefined ? [] : [`--min-age=${history.until}`]),
      // A fixed string: a regular expression could run forever.
      ...(history.author === undefined ? [] : ["--fixed-strings", `--author=${history.author}`]),
      ...(history.firstParent ? ["--first-parent"] : []),
      ...(history.topological ? ["--topo-order"] : []),
      ...(history.reverse ? ["--reverse"] : []),
    ],
    values: [
      ...(history.from === undefined ? [] : [history.from]),
      ...(history.without === undefined ? [] : [`^${history.without}`]),
    ],
    ...(history.path === undefined ? {} : { paths: [history.path] }),
  }) as const;

export async function listCommits(
  repository: Repository,
  history: History,
  { skip, limit }: { skip: number; limit: number },
): Promise<string[]> {
  if (skip + limit > MAX_INT32) return [];
  return allLines(repository, callOf(history, `--skip=${skip}`, `--max-count=${limit}`));
}

export async function countCommits(repository: Repository, history: History): Promise<number> {
  const [count] = await allLines(repository, callOf(history, "--count"));
  return Number(count);
}

/** The commit that last changed a path; undefined if git does not find it in time. */
export const lastChange = (repository: Repository, from: string, path: string): Promise<string | undefined> =>
  repository.objects.known(`last change ${from}:${path}`, async () => {
    try {
      const [id] = await allLines(repository, {
        ...callOf({ from, path }, "--max-count=1"),
        timeoutMs: LAST_CHANGE_TIMEOUT_MS,
      });
      return id;
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  });

/** The best common ancestor of commits. */
export async function mergeBase(repository: Repository, ids: readonly string[]): Promise<string | undefined> {
  try {
    const [id] = await allLines(repository, {
      command: "merge-base",
      options: ids.length > 2 ? ["--octopus"] : [],
      values: ids,
    });
    return id;
  } catch (error) {
    if (error instanceof GitFailed && error.exitCode === 1) return undefined;
    throw error;
  }
}

interface Contributor {
  readonly name: string;
  readonly email: string;
  readonly commits: number;
}

/** Limits on the number of contributors and on the length of their names. */
const MAX_CONTRIBUTORS = 10_000;
const MAX_NAME_BYTES = 256;

/** The authors of the latest `maxCommits` ancestors of a commit, in the order of their first commit. */
export async function contributorsTo(
  repository: Repository,
  from: string,
  maxCommits: number,
): Promise<{ contributors: Contributor[]; truncated: boolean }> {
  const found = new Map<string, Contributor>();
  let truncated = false;
  let email: string | undefined;
  const call = callOf({ from }, `--max-count=${maxCommits}`, "--no-merges", "--no-commit-header", "--format=%ae%n%an");
  for await (const lines of linesOf(repository, call, { maxBytes: MAX_NAME_BYTES, overlong: "cut" })) {
    for (const line of lines) {
      truncated ||= line.length > MAX_NAME_BYTES;
      if (email === undefined) {
        email = line;
        continue;
      }
      const known = found.get(email);
      if (known || found.size < MAX_CONTRIBUTORS)
        found.set(email, { name: line, email, commits: (known?.commits ?? 0) + 1 });
      else truncated = true;
      email = undefined;
    }
  }
  return { contributors: [...found.values()].toReversed(), truncated };
}
