import type { Repository } from "#git/storages/storage.ts";
import type { Commit } from "./commits.ts";
import { MAX_COMPARED_FILE_BYTES } from "#git/settings.ts";
import { type DiffLimits, diffReader, type FileDiff } from "./diff-reader.ts";
import { linesOf, chunksOf } from "./output.ts";

interface Diff {
  readonly files: readonly FileDiff[];
  /** How many files differ. */
  readonly total: number;
}

const LIMITS: DiffLimits = { fileBytes: 200 * 1024, bytes: 3 * 1024 * 1024, lines: 50_000 };

/** The names are not presented, and whoever pushed them chose their length. */
const NAMES = { end: "\0", maxBytes: 1024, overlong: "cut" } as const;

/** The number of files that can be listed of one diff, over all pages. */
export const MAX_DIFF_FILES = 1000;

/** The id of the empty tree, which git knows in every repository. */
export const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

interface DiffEnds {
  readonly from: string;
  readonly to: string;
}

/** `-l1000` limits the pairs compared for renames. */
const OPTIONS = ["-r", "-z", "-M", "-l1000", "--no-color", "--no-ext-diff", "--no-textconv"];

/** A page of the files that differ between two commits or trees. */
export async function readDiff(
  repository: Repository,
  { from, to }: DiffEnds,
  { skip, limit }: { skip: number; limit: number } = { skip: 0, limit: MAX_DIFF_FILES },
): Promise<Diff> {
  const reader = diffReader(
    { skip: Math.min(skip, MAX_DIFF_FILES), limit: Math.min(limit, MAX_DIFF_FILES - skip) },
    LIMITS,
  );
  const options = [...OPTIONS, "--raw", "-p", "--full-index"];
  for await (const chunk of chunksOf(repository, { command: "diff-tree", options, values: [from, to] })) {
    reader.read(chunk);
    if (reader.isDone()) break;
  }
  const { files, total } = reader.result();
  const checked: FileDiff[] = [];
  for (const file of files)
    checked.push((await isUncompared(repository, file)) ? { ...file, text: "", tooLarge: true } : file);
  return { files: checked, total };
}

/** Git reports a file that is too large to compare as binary. */
async function isUncompared({ objects }: Repository, { text, ids }: FileDiff): Promise<boolean> {
  if (!text.startsWith("Binary files ")) return false;
  const found = await Promise.all(ids.map((id) => objects.info(id)));
  return found.some((info) => info?.type === "blob" && info.size > MAX_COMPARED_FILE_BYTES);
}

export interface Stats {
  readonly additions: number;
  readonly deletions: number;
}

/** The lines that each commit added and deleted against its first parent; binary files count none. */
export async function readStats(
  repository: Repository,
  commits: readonly { readonly id: string; readonly parent_ids: readonly string[] }[],
): Promise<Map<string, Stats>> {
  const stats = new Map<string, Stats>();
  const input = commits.map(({ id, parent_ids }) => `${[id, ...parent_ids.slice(0, 1)].join(" ")}\n`).join("");
  const options = ["--stdin", "--always", "--root", "--numstat", ...OPTIONS];
  let commit = "";
  /** The number of fields to skip: the paths of a renamed file. */
  let paths = 0;
  for await (const fields of linesOf(repository, { command: "diff-tree", options, input }, NAMES)) {
    for (const field of fields) {
      if (paths > 0) {
        paths -= 1;
        continue;
      }
      const [added = "", deleted, path] = field.split("\t");
      if (deleted === undefined) {
        commit = added;
        stats.set(commit, { additions: 0, deletions: 0 });
        continue;
      }
      const { additions, deletions } = stats.get(commit) ?? { additions: 0, deletions: 0 };
      stats.set(commit, { additions: additions + linesIn(added), deletions: deletions + linesIn(deleted) });
      if (path === "") paths = 2;
    }
  }
  return stats;
}

/** The stats of one commit. */
export async function statsOf(repository: Repository, { id, parents }: Commit): Promise<Stats | undefined> {
  return (await readStats(repository, [{ id, parent_ids: parents }])).get(id);
}

/** Git writes `-` for binary files. */
const linesIn = (count: string) => (count === "-" ? 0 : Number(count));
