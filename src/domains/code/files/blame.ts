import { type Blamed, readBlame } from "#git/objects/blame.ts";
import { readBlob } from "#git/objects/blobs.ts";
import { type Commit, readAllowance, readCommit } from "#git/objects/commits.ts";
import type { ObjectInfo } from "#git/objects/object.ts";
import type { Repository } from "#git/storages/storage.ts";
import { badRequest, missing } from "#lib/refusal.ts";
import type { AnswerBudget } from "#domains/code/repository/answer-budget.ts";
import { presentBlamed } from "./entity.ts";

/** Larger files are seldom written by hand, and take git a long time. */
const MAX_FILE_BYTES = 1024 * 1024;
/** The message of a commit is repeated with each run of its lines. */
const MAX_MESSAGE_BYTES = 2048;
const MAX_COMMITS = 1000;
const LF = 10;

interface LineRange {
  readonly start: number;
  readonly end: number;
}

/** The lines of a file with the commits that last changed them. */
export async function blamedLines(
  repository: Repository,
  blob: ObjectInfo,
  { commit, path }: { commit: string; path: string },
  range: LineRange | undefined,
  budget: AnswerBudget,
) {
  const bytes = (await readBlob(repository, blob.id, MAX_FILE_BYTES)) ?? Buffer.alloc(0);
  const known = range && rangeWithin(range, linesIn(bytes));
  // A path that is not UTF-8 was presented with U+FFFD in it, by which git does not find the file.
  if (!(await repository.objects.info(`${commit}:${path}`))) throw missing("File");
  if (bytes.length === 0) return [];
  const { blamed, truncated } = await readBlame(repository, { commit, path }, known);
  if (truncated) budget.markTruncated();
  return presentLines(repository, blamed, budget);
}

/** Presents lines until the response is full or has too many commits. */
async function presentLines(repository: Repository, blamed: readonly Blamed[], budget: AnswerBudget) {
  const commits = new Map<string, Commit | undefined>();
  const options = { messageBytes: MAX_MESSAGE_BYTES, allows: readAllowance() };
  const rows: ReturnType<typeof presentBlamed>[] = [];
  for (const { commit: id, lines } of blamed) {
    if (!commits.has(id)) {
      if (commits.size === MAX_COMMITS) {
        budget.markTruncated();
        break;
      }
      commits.set(id, await readCommit(repository, id, options));
    }
    const commit = commits.get(id);
    if (!commit) continue;
    if (commit.truncated) budget.markTruncated();
    const row = budget.fit([() => presentBlamed(commit, lines)]);
    if (!row) break;
    rows.push(row);
    await budget.yieldToOthers();
  }
  return rows;
}

function linesIn(bytes: Buffer): number {
  let count = bytes.length > 0 && bytes.at(-1) !== LF ? 1 : 0;
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) count += 1;
  return count;
}

function rangeWithin({ start, end }: LineRange, lines: number): LineRange {
  if (end < start) throw badRequest("range[start] must be lower than or equal to range[end]");
  if (start > lines) throw badRequest("range[start] is outside of the file");
  return { start, end: Math.min(end, lines) };
}
