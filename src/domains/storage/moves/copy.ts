import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "#db/database.ts";
import { CopyFailed, GitFailed, type Repository } from "#git/storages/storage.ts";
import type { Services } from "#services.ts";
import { storageNames } from "#domains/storage/storages/weights.ts";
import type { Attempt, Progress } from "./attempt.ts";

const MAX_WAIT_MS = 30_000;
const POLL_INTERVAL_MS = 200;

interface CopyContext {
  readonly services: Pick<Services, "db" | "git">;
  readonly signal: AbortSignal;
  onProgress(progress: Progress): void;
}

/** Copies the repository of a move and compares the copy with it. Nothing is copied if it was never created. */
export async function copyToDestination(attempt: Attempt, { services: { db, git }, signal, onProgress }: CopyContext) {
  const { source, destination } = attempt;
  for (const { storage } of [source, destination]) {
    if (storageNames(git).includes(storage)) continue;
    throw new CopyFailed(`This worker is not configured for the storage ${storage}; check FAIRLEAD_STORAGES`);
  }
  const original = git.storage(source.storage).repository(source.path);
  await waitForPushes(db.write, attempt.repository_id, signal);
  if (!(await original.exists())) {
    if (!attempt.has_content) return;
    throw new CopyFailed(`The repository is missing on ${source.storage}; restore it from a backup first`);
  }
  const copy = git.storage(destination.storage).repository(destination.path);
  let progress: Progress = { phase: "copying", bytes: 0, total_bytes: null };
  await copy.copyFrom(original, {
    signal,
    onProgress(bytes, total_bytes) {
      onProgress((progress = { phase: bytes < total_bytes ? "copying" : "verifying", bytes, total_bytes }));
    },
  });
  onProgress({ ...progress, phase: "comparing" });
  await requireSameRefs(original, copy);
}

/** Waits until the pushes have ended that began before the repository became read-only. */
async function waitForPushes(db: Db, repositoryId: number, signal: AbortSignal) {
  const deadline = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const push = await db
      .selectFrom("pushes")
      .select("id")
      .where("repository_id", "=", repositoryId)
      .limit(1)
      .executeTakeFirst();
    if (!push) return;
    if (performance.now() > deadline) {
      throw new CopyFailed(`A push was still running after ${MAX_WAIT_MS / 1000} seconds. Please try again later.`);
    }
    await sleep(POLL_INTERVAL_MS, undefined, { signal });
  }
}

async function requireSameRefs(original: Repository, copy: Repository) {
  const [one, other] = [await original.refsChecksum(), await copy.refsChecksum()];
  if (one === other) return;
  throw new CopyFailed(
    `The refs of the copy differ: their checksum is ${other.slice(0, 12)} instead of ${one.slice(0, 12)}`,
  );
}

/** The reason of a failure in words for an administrator, without paths of the machine. */
export function reasonOfFailure(error: unknown, { move_id, destination }: Attempt): string {
  if (error instanceof CopyFailed) return error.message;
  if (isFull(error)) return `There is no space left on the storage ${destination.storage}`;
  return `The repository could not be copied; the log of the worker says why (move ${move_id})`;
}

function isFull(error: unknown): boolean {
  if (error instanceof GitFailed) return /No space left on device|Disk quota exceeded/i.test(error.stderr);
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}
