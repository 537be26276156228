import { setTimeout as sleep } from "node:timers/promises";
import { refusalOf } from "#db/errors.ts";
import { isRemoval, type RefChange } from "#git/push-commands.ts";
import { ZERO_ID } from "#git/refs.ts";
import { GitFailed, type Repository } from "#git/storages/storage.ts";
import { BACKGROUND } from "#lib/consumer.ts";
import type { Services } from "#services.ts";
import { notePush } from "#domains/storage/repositories/maintenance.ts";
import { repositoryLocations, repositoryOf } from "#domains/storage/repositories/location.ts";
import { claimOrphaned, dropIntent, finishIntent, type OrphanedIntent } from "./intents.ts";
import { type Outcome, recorderOf } from "./record.ts";

const RECONCILE_INTERVAL_MS = 5_000;
const MAX_ATTEMPTS = 3;
/** A ref of a larger push counts as changed only if it still points to where the push moved it. */
const MAX_ANCESTRY_CHECKS = 100;

/** Records what git did, its audit event too, and finishes the intent, in one transaction. */
export async function completePush(services: Services, outcome: Outcome): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      if (outcome.done.length === 0) await dropIntent(services.db.write, outcome.intent.id);
      // Another process may already have recorded some of these events, or all of them.
      else await recordEvents(services, outcome, [], (row) => (row && !row.orphaned ? "all" : "unrecorded"));
      return;
    } catch (error) {
      // The refs have changed, so a brief failure of the database should not cost the client its report.
      if (tries === MAX_ATTEMPTS || !refusalOf(error)) throw error;
      await sleep(tries * 500);
    }
  }
}

/** Records what was found in the repository; changes not found stay in the intent while git may still be running. */
async function completeOrphaned(services: Services, outcome: Outcome, expired: boolean) {
  const rest = expired ? [] : outcome.intent.changes.filter((change) => !outcome.done.includes(change));
  await recordEvents(services, outcome, rest, (row) => (row ? "unrecorded" : "none"));
}

async function recordEvents(
  services: Services,
  { intent, repository, done }: Outcome,
  rest: readonly RefChange[],
  which: (row: Awaited<ReturnType<typeof finishIntent>>) => "all" | "unrecorded" | "none",
) {
  const location = await locationOf(services, intent.repository_id);
  if (!location) return;
  const record = await recorderOf(location, { intent, repository, done });
  // A concurrent repack may remove files while they are measured; the next push measures again.
  const size_bytes = await repository.size().catch(() => undefined);
  await services.db.transaction(async (tx) => {
    // The first statement, because its row lock serializes everyone who completes pushes to this repository.
    if (!(await notePush(tx, services.jobs, location, { ...record.content, size_bytes }))) return;
    const row = await finishIntent(tx, intent.id, rest);
    const choice = which(row);
    if (choice !== "none") await record.write(tx, { choice, isFirst: row !== undefined });
  });
}

const locationOf = ({ db }: Pick<Services, "db">, repositoryId: number) =>
  repositoryLocations(db.write).where("r.id", "=", repositoryId).executeTakeFirst();

/** Completes a batch of pushes whose process died; returns how many it claimed. */
export async function reconcilePushes(services: Services): Promise<number> {
  const orphaned = await claimOrphaned(services.db.write);
  for (const intent of orphaned) {
    try {
      await reconcilePush(services, intent);
    } catch (error) {
      services.log.warn({ err: error, push: intent.id }, "could not reconcile a push; will retry");
    }
  }
  return orphaned.length;
}

async function reconcilePush(services: Services, intent: OrphanedIntent) {
  if (intent.contested) return;
  const location = await locationOf(services, intent.repository_id);
  if (!location) return;
  const repository = await repositoryOf(services, location, BACKGROUND);
  const done = await changesDone(repository, intent.changes);
  if (done.length > 0) await completeOrphaned(services, { intent, repository, done }, intent.expired);
  else if (intent.expired) await dropIntent(services.db.write, intent.id);
  if (done.length > 0) services.log.info({ push: intent.id, refs: done.length }, "reconciled an orphaned push");
}

/** Returns the changes that the repository shows to have happened. */
async function changesDone(repository: Repository, changes: readonly RefChange[]): Promise<RefChange[]> {
  const done: RefChange[] = [];
  for (const change of changes) {
    const value = (await repository.objects.info(change.ref))?.id ?? ZERO_ID;
    if (value === change.newId) done.push(change);
    else if (changes.length <= MAX_ANCESTRY_CHECKS && (await passedThrough(repository, change, value)))
      done.push(change);
  }
  return done;
}

/** Whether a ref that has moved on since then once pointed to the new id of a change. */
async function passedThrough(repository: Repository, change: RefChange, value: string): Promise<boolean> {
  if (isRemoval(change) || value === ZERO_ID || value === change.oldId) return false;
  return isAncestor(repository, change.newId, value);
}

export async function isAncestor(repository: Repository, ancestor: string, id: string): Promise<boolean> {
  const git = await repository.run({ command: "merge-base", options: ["--is-ancestor"], values: [ancestor, id] });
  git.output.resume();
  try {
    await git.ended;
    return true;
  } catch (error) {
    // 1 means no; 128 means that a commit is missing, as when the objects of a push never arrived.
    const isNo = error instanceof GitFailed && !error.outOfMemory && (error.exitCode === 1 || error.exitCode === 128);
    if (isNo) return false;
    throw error;
  }
}

/** Reconciles orphaned pushes now and every few seconds until stopped. */
export function watchPushes(services: Services): { stop(): void } {
  let busy = false;
  const round = async () => {
    if (busy) return;
    busy = true;
    try {
      await reconcilePushes(services);
    } catch (error) {
      services.log.warn({ err: error }, "could not claim orphaned pushes");
    } finally {
      busy = false;
    }
  };
  void round();
  const timer = setInterval(() => void round(), RECONCILE_INTERVAL_MS).unref();
  return { stop: () => clearInterval(timer) };
}
