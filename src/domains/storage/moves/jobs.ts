import { sql } from "kysely";
import { refusalOf } from "#db/errors.ts";
import type { RepositoryName } from "#git/storages/storage.ts";
import { defineJob, type JobContext } from "#jobs/define.ts";
import {
  type Attempt,
  failAttempt,
  LeaseLost,
  type Progress,
  renewLease,
  startAttempt,
  switchRepository,
} from "./attempt.ts";
import { copyToDestination, reasonOfFailure } from "./copy.ts";
import { moveCleanup, repositoryMove, storageEvacuation } from "./kinds.ts";
import { scheduleBatch } from "./schedule.ts";
import { changeState } from "./state.ts";

const RENEWAL_INTERVAL_MS = 3_000;

/**
 * Moves a repository. An attempt that is interrupted begins anew with a copy of its own; any other failure ends the move
 * with a reason.
 */
export const moveRepository = defineJob({
  ...repositoryMove,
  async run(job) {
    const { payload, services, step, transaction, signal } = job;
    const attempt = await step((tx) => startAttempt(tx, services.jobs, payload, job.id));
    if (!attempt) return;
    const lease = holdLease(job, attempt);
    try {
      await copyToDestination(attempt, { services, signal: lease.signal, onProgress: lease.onProgress });
      await lease.release();
      await transaction((tx) => switchRepository(tx, services.jobs, attempt));
    } catch (error) {
      await lease.release();
      const cause = lease.signal.aborted ? lease.signal.reason : error;
      if (signal.aborted || isTemporary(cause)) throw cause;
      services.log.warn({ err: cause, move: attempt.move_id }, "could not move a repository");
      await transaction((tx) => failAttempt(tx, services.jobs, attempt, reasonOfFailure(cause, attempt)));
    }
  },
});

/** Whether another attempt may succeed without anybody doing something about it. */
const isTemporary = (error: unknown) => error instanceof LeaseLost || refusalOf(error)?.kind === "unavailable";

/** Renews the lease of an attempt until it is released. Its signal is aborted when the lease or the job is lost. */
function holdLease({ step, signal }: Pick<JobContext<unknown>, "step" | "signal">, attempt: Attempt) {
  const lost = new AbortController();
  let progress: Progress = { phase: "waiting for pushes", bytes: 0, total_bytes: null };
  let renewing: Promise<void> | undefined;
  // One at a time, since a slow database would otherwise be asked for more and more of them.
  const renew = () => {
    renewing ??= step((tx) => renewLease(tx, attempt, progress))
      .catch((error: unknown) => {
        // While the database cannot be reached the copy goes on; at the switch the lease must still be held.
        if (error instanceof LeaseLost) lost.abort(error);
      })
      .finally(() => (renewing = undefined));
  };
  const timer = setInterval(renew, RENEWAL_INTERVAL_MS).unref();
  return {
    signal: AbortSignal.any([signal, lost.signal]),
    onProgress: (now: Progress) => void (progress = now),
    async release() {
      clearInterval(timer);
      await renewing;
    },
  };
}

/** Removes the source. Until that has succeeded the move is shown as one whose cleanup failed, and it is tried again. */
export const cleanUpMove = defineJob({
  ...moveCleanup,
  async run({ payload: { move_id, storage, path }, services, step, transaction }) {
    try {
      await services.git
        .storage(storage)
        .repository(path as RepositoryName)
        .remove();
    } catch (error) {
      const reason = `The source on ${storage} could not be removed; will retry`;
      await step((tx) =>
        changeState(tx, move_id, "cleanup failed", sql`error_message = ${reason}, finished_at = now()`),
      );
      throw error;
    }
    await transaction((tx) =>
      changeState(tx, move_id, "finished", sql`error_message = null, finished_at = now(), phase = null`),
    );
  },
});

/** Schedules moves in batches, so that no transaction is long. */
export const evacuateStorage = defineJob({
  ...storageEvacuation,
  async run({ payload, services, step, signal }) {
    const settings = await services.settings.current();
    let after: number | undefined = 0;
    while (after !== undefined) {
      signal.throwIfAborted();
      const from: number = after;
      after = await step((tx) => scheduleBatch(tx, services, settings, payload, from));
    }
  },
});
