import { type Blamed, readBlame } from "#git/objects/blame.ts";
import { readBlob } from "#git/objects/blobs.ts";
import { type Commit, readAllowance, readCommit } from "#git/objects/commits.ts";
import type { ObjectInfo } from "#git/objects/object.ts";
import type { Repository } from "#git/storages/storage.ts";
import { badRequest, missing } from "#lib/refusal.ts";
import type { AnswerBudget } from "#resources/repositories/answer-budget.ts";
import { presentBlamed } from "./entity.ts";

/** Larger files are seldom written by hand, and take git long. */
const MOST_BYTES = 1024 * 1024;
/** A message is told again with every few lines that its commit wrote. */
const MAX_MESSAGE_BYTES = 2048;
const MAX_COMMITS = 1000;
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
  budget: AnswerBudget,
) {
  const bytes = (await readBlob(repository, blob.id, MOST_BYTES)) ?? Buffer.alloc(0);
  const known = range && rangeWithin(range, linesIn(bytes));
  // A path that is no UTF-8 cannot be told to git as it was told to the caller.
  if (!(await repository.objects.info(`${commit}:${path}`))) throw missing("File");
  if (bytes.length === 0) return [];
  const { blamed, truncated } = await readBlame(repository, { commit, path }, known);
  if (truncated) budget.markTruncated();
  return presentLines(repository, blamed, budget);
}

/** Lines from the first on, as long as the response has room for them and their commits are not too many to be read. */
async function presentLines(repository: Repository, blamed: readonly Blamed[], budget: AnswerBudget) {
  const commits = new Map<string, Commit | undefined>();
  const wanted = { messageBytes: MAX_MESSAGE_BYTES, allows: readAllowance() };
  const rows: ReturnType<typeof presentBlamed>[] = [];
  for (const { commit: id, lines } of blamed) {
    if (!commits.has(id)) {
      if (commits.size === MAX_COMMITS) {
        budget.markTruncated();
        break;
      }
      commits.set(id, await readCommit(repository, id, wanted));
    }
    const commit = commits.get(id);
    if (!commit) continue;
    if (commit.truncated) budget.markTruncated();
    const row = budget.fit([() => presentBlamed(commit, lines)]);
    if (!row) break;
    rows.push(row);
    await budget.yieldTurn();
  }
  return rows;
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
