import type { Repository } from "#git/storages/storage.ts";
import type { Commit } from "./commits.ts";
import { MAX_COMPARED_FILE_BYTES } from "#git/settings.ts";
import { type DiffLimits, diffReader, type FileDiff } from "./diff-reader.ts";
import { linesOf, partsOf } from "./output.ts";

interface Diff {
  readonly files: readonly FileDiff[];
  /** How many files differ. */
  readonly total: number;
}

const LIMITS: DiffLimits = { fileBytes: 200 * 1024, bytes: 3 * 1024 * 1024, lines: 50_000 };

/** Nobody is told these names, which may be as long as whoever pushed them liked. */
const NAMES = { end: "\0", maxBytes: 1024, overlong: "cut" } as const;

/** As many files as are told of a difference, however it is asked for. */
export const MOST_FILES = 1000;

/** The tree that nothing is in; git knows it everywhere. */
export const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

interface Between {
  readonly from: string;
  readonly to: string;
}

/** More pairs than this are not looked through for what was renamed. */
const OPTIONS = ["-r", "-z", "-M", "-l1000", "--no-color", "--no-ext-diff", "--no-textconv"];

/** How a commit or tree differs from another: of the files that differ, so many after so many. */
export async function readDiff(
  repository: Repository,
  { from, to }: Between,
  { skip, limit }: { skip: number; limit: number } = { skip: 0, limit: MOST_FILES },
): Promise<Diff> {
  const reader = diffReader({ skip: Math.min(skip, MOST_FILES), limit: Math.min(limit, MOST_FILES - skip) }, LIMITS);
  const options = [...OPTIONS, "--raw", "-p", "--full-index"];
  for await (const part of partsOf(repository, { command: "diff-tree", options, values: [from, to] })) {
    reader.read(part);
    if (reader.isDone()) break;
  }
  const { files, total } = reader.result();
  const told: FileDiff[] = [];
  for (const file of files)
    told.push((await isUncompared(repository, file)) ? { ...file, text: "", tooLarge: true } : file);
  return { files: told, total };
}

/** Git says of what is too large to be compared that it is binary, whatever it is. */
async function isUncompared({ objects }: Repository, { text, ids }: FileDiff): Promise<boolean> {
  if (!text.startsWith("Binary files ")) return false;
  const found = await Promise.all(ids.map((id) => objects.info(id)));
  return found.some((info) => info?.type === "blob" && info.size > MAX_COMPARED_FILE_BYTES);
}

export interface Stats {
  readonly additions: number;
  readonly deletions: number;
}

/** How many lines each of some commits added and deleted, compared with its first parent; what is no text has none. */
export async function readStats(
  repository: Repository,
  commits: readonly { readonly id: string; readonly parent_ids: readonly string[] }[],
): Promise<Map<string, Stats>> {
  const stats = new Map<string, Stats>();
  const input = commits.map(({ id, parent_ids }) => `${[id, ...parent_ids.slice(0, 1)].join(" ")}\n`).join("");
  const options = ["--stdin", "--always", "--root", "--numstat", ...OPTIONS];
  let commit = "";
  /** Fields that are the paths of what was renamed. */
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

/** The same of one commit. */
export async function statsOf(repository: Repository, { id, parents }: Commit): Promise<Stats | undefined> {
  return (await readStats(repository, [{ id, parent_ids: parents }])).get(id);
}

/** Git writes `-` for what is no text. */
const linesIn = (count: string) => (count === "-" ? 0 : Number(count));
