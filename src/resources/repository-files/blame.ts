import { readBlame } from "#git/objects/blame.ts";
import { readBlob } from "#git/objects/blobs.ts";
import { readCommits } from "#git/objects/commits.ts";
import type { ObjectInfo } from "#git/objects/object.ts";
import type { Repository } from "#git/storages/storage.ts";
import { badRequest, missing } from "#lib/refusal.ts";
import { presentBlamed } from "./entity.ts";

/** Larger files are seldom written by hand, and take git long. */
const MOST_BYTES = 1024 * 1024;
const LF = 10;

interface Lines {
  readonly start: number;
  readonly end: number;
}

/** The lines of a file with the commits that wrote them. */
export async function blamedLines(
  repository: Repository,
  blob: ObjectInfo,
  { commit, path }: { commit: string; path: string },
  range: Lines | undefined,
) {
  const bytes = (await readBlob(repository, blob.id, MOST_BYTES)) ?? Buffer.alloc(0);
  const known = range && rangeWithin(range, linesIn(bytes));
  // A path that is no UTF-8 cannot be told to git as it was told to the caller.
  if (!(await repository.objects.info(`${commit}:${path}`))) throw missing("File");
  const blamed = bytes.length === 0 ? [] : await readBlame(repository, { commit, path }, known);
  const ids = [...new Set(blamed.map(({ commit }) => commit))];
  const commits = new Map((await readCommits(repository, ids)).map((commit) => [commit.id, commit]));
  return blamed.flatMap(({ commit: id, lines }) => {
    const commit = commits.get(id);
    return commit ? [presentBlamed(commit, lines)] : [];
  });
}

function linesIn(bytes: Buffer): number {
  let count = bytes.length > 0 && bytes.at(-1) !== LF ? 1 : 0;
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) count += 1;
  return count;
}

function rangeWithin({ start, end }: Lines, lines: number): Lines {
  if (end < start) throw badRequest("range[start] must be lower than or equal to range[end]");
  if (start > lines) throw badRequest("range[start] is outside of the file");
  return { start, end: Math.min(end, lines) };
}
