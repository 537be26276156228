import { GitFailed, type Repository } from "#git/storages/storage.ts";
import { Refusal } from "#lib/refusal.ts";
import { allLines, linesOf } from "./output.ts";

/** Which commits of a history are wanted. */
export interface History {
  /** Where it begins; all branches and tags, if left out. */
  readonly from?: string;
  /** What leads to this one is left out. */
  readonly without?: string;
  readonly path?: string | undefined;
  /** Seconds since 1970, both ends included. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** A part of the author's name or address. */
  readonly author?: string | undefined;
  readonly firstParent?: boolean | undefined;
  /** Parents never before their children; else by time. */
  readonly topological?: boolean | undefined;
  /** The oldest of those that are given first. */
  readonly reverse?: boolean;
}

/** Milliseconds that are spent on what an answer can do without. */
const LONGEST_LOOK = 5_000;

/** The largest number that git counts with. */
const MOST = 2 ** 31 - 1;

const callOf = (history: History, ...more: readonly string[]) =>
  ({
    command: "rev-list",
    options: [
      ...more,
      ...(history.from === undefined ? ["--branches", "--tags"] : []),
      ...(history.since === undefined ? [] : [`--max-age=${history.since}`]),
      ...(history.until === undefined ? [] : [`--min-age=${history.until}`]),
      // A text to be found as it is: a pattern could keep git busy for ever.
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
  if (skip + limit > MOST) return [];
  return allLines(repository, callOf(history, `--skip=${skip}`, `--max-count=${limit}`));
}

export async function countCommits(repository: Repository, history: History): Promise<number> {
  const [count] = await allLines(repository, callOf(history, "--count"));
  return Number(count);
}

/** The commit that last changed what is at a path; undefined where that is not found out in time. */
export const lastChange = (repository: Repository, from: string, path: string): Promise<string | undefined> =>
  repository.objects.known(`last change ${from}:${path}`, async () => {
    try {
      const [id] = await allLines(repository, { ...callOf({ from, path }, "--max-count=1"), timeout: LONGEST_LOOK });
      return id;
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  });

/** What commits have in common, the latest of it. */
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

/** How many are counted, and how much is kept of what they call themselves. */
const MAX_CONTRIBUTORS = 10_000;
const MAX_NAME_BYTES = 256;

/** Who wrote the latest so many commits that lead to one, in the order of their first. */
export async function contributorsTo(
  repository: Repository,
  from: string,
  most: number,
): Promise<{ contributors: Contributor[]; truncated: boolean }> {
  const found = new Map<string, Contributor>();
  let truncated = false;
  let email: string | undefined;
  const call = callOf({ from }, `--max-count=${most}`, "--no-merges", "--no-commit-header", "--format=%ae%n%an");
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
