import Type, { type Static } from "typebox";
import { abridged, type Commit as CommitRead, momentOf, titleOf, trailersOf } from "#git/objects/commits.ts";
import type { FileDiff } from "#git/objects/diff-reader.ts";
import type { Stats } from "#git/objects/diffs.ts";
import { Nullable } from "#http/params/vocabulary.ts";
import { Refusal } from "#lib/refusal.ts";
import type { AnswerBudget } from "#domains/code/repository/answer-budget.ts";

const Time = Type.String({ format: "date-time" });
const exact = { additionalProperties: false };

const commit = {
  id: Type.String(),
  short_id: Type.String(),
  created_at: Time,
  parent_ids: Type.Array(Type.String()),
  title: Type.String(),
  message: Type.String(),
  author_name: Type.String(),
  author_email: Type.String(),
  authored_date: Time,
  committer_name: Type.String(),
  committer_email: Type.String(),
  committed_date: Time,
  trailers: Type.Record(Type.String(), Type.String()),
  extended_trailers: Type.Record(Type.String(), Type.Array(Type.String())),
  web_url: Type.String(),
};

const CommitStats = Type.Object(
  { additions: Type.Integer(), deletions: Type.Integer(), total: Type.Integer() },
  { ...exact, title: "CommitStats" },
);

export const Commit = Type.Object(commit, { ...exact, title: "Commit" });

/** A commit in a list, with stats if they were requested. */
export const ListedCommit = Type.Object(
  { ...commit, stats: Type.Optional(CommitStats) },
  { ...exact, title: "ListedCommit" },
);

export const CommitDetail = Type.Object(
  {
    ...commit,
    stats: Type.Optional(CommitStats),
    status: Type.Null(),
    project_id: Type.Integer(),
    last_pipeline: Type.Null(),
  },
  { ...exact, title: "CommitDetail" },
);

export const CommitRef = Type.Object(
  { type: Type.Enum(["branch", "tag"]), name: Type.String() },
  { ...exact, title: "CommitRef" },
);

export const CommitSequence = Type.Object({ count: Type.Integer() }, { ...exact, title: "CommitSequence" });

/** The diff of one file. */
export const Diff = Type.Object(
  {
    diff: Type.String(),
    new_path: Type.String(),
    old_path: Type.String(),
    a_mode: Type.String(),
    b_mode: Type.String(),
    new_file: Type.Boolean(),
    renamed_file: Type.Boolean(),
    deleted_file: Type.Boolean(),
    generated_file: Nullable(Type.Boolean()),
    collapsed: Type.Boolean(),
    too_large: Type.Boolean(),
  },
  { ...exact, title: "Diff" },
);

/** `address` is the web address of the project. */
export function presentCommit(commit: CommitRead, address: string, withTrailers = true): Static<typeof Commit> {
  // A truncated message has lost its end, where trailers are.
  const trailers = withTrailers && !commit.truncated ? trailersOf(commit.message) : [];
  const extended = Map.groupBy(trailers, ([key]) => key);
  return {
    id: commit.id,
    short_id: commit.id.slice(0, 8),
    created_at: momentOf(commit.committer),
    parent_ids: [...commit.parents],
    title: titleOf(commit.message),
    message: commit.message,
    author_name: commit.author.name,
    author_email: commit.author.email,
    authored_date: momentOf(commit.author),
    committer_name: commit.committer.name,
    committer_email: commit.committer.email,
    committed_date: momentOf(commit.committer),
    trailers: Object.fromEntries(trailers),
    extended_trailers: Object.fromEntries([...extended].map(([key, all]) => [key, all.map(([, value]) => value)])),
    web_url: `${address}/-/commit/${commit.id}`,
  };
}

/** How much of a message is read for a list. */
export const MAX_LISTED_MESSAGE_BYTES = 32 * 1024;

/** The forms of a commit in a response: as it was read, or abridged. */
export function formsOf<T>(budget: AnswerBudget, commit: CommitRead, present: (commit: CommitRead) => T) {
  if (commit.truncated) budget.markTruncated();
  return [() => present(commit), () => present(abridged(commit))];
}

/** Presents a single commit, with its whole message if the response has room for it. */
export function fitCommit<T>(budget: AnswerBudget, commit: CommitRead, present: (commit: CommitRead) => T): T {
  const row = budget.fit(formsOf(budget, commit, present));
  if (row === undefined) throw new Refusal("too large", "The commit is too large for this answer");
  return row;
}

export const presentStats = ({ additions, deletions }: Stats): Static<typeof CommitStats> => ({
  additions,
  deletions,
  total: additions + deletions,
});

export const presentDetail = (
  commit: CommitRead,
  { address, projectId, stats }: { address: string; projectId: number; stats: Stats | undefined },
): Static<typeof CommitDetail> => ({
  ...presentCommit(commit, address),
  ...(stats && { stats: presentStats(stats) }),
  status: null,
  project_id: projectId,
  last_pipeline: null,
});

/** `unidiff` adds the header with both names, which `patch` needs. */
const presentDiff =
  (unidiff: boolean) =>
  ({ text, oldPath, newPath, oldMode, newMode, status, tooLarge, collapsed }: FileDiff): Static<typeof Diff> => {
    const isNew = status === "A";
    const isDeleted = status === "D";
    const names = `--- ${isNew ? "/dev/null" : `a/${oldPath}`}\n+++ ${isDeleted ? "/dev/null" : `b/${newPath}`}\n`;
    return {
      diff: unidiff && text.startsWith("@@") ? names + text : text,
      new_path: newPath,
      old_path: oldPath,
      a_mode: oldMode,
      b_mode: newMode,
      new_file: isNew,
      renamed_file: status.startsWith("R"),
      deleted_file: isDeleted,
      generated_file: null,
      collapsed,
      too_large: tooLarge,
    };
  };

/** Presents the diffs of files; one that does not fit in the response is collapsed. */
export function fitDiffs(budget: AnswerBudget, files: readonly FileDiff[], unidiff: boolean, reserve = 0) {
  const present = presentDiff(unidiff);
  const rows: Static<typeof Diff>[] = [];
  for (const file of files) {
    if (file.truncated) budget.markTruncated();
    const row = budget.fit([() => present(file), () => present({ ...file, text: "", collapsed: true })], reserve);
    if (row === undefined) break;
    rows.push(row);
  }
  return rows;
}
