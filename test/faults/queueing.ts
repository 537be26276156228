import type { Cluster } from "./cluster.ts";
import type { Hold, Job } from "./jobs.ts";
import { type AddedJob, type Journal, nextName } from "./journal.ts";

const MAX_ATTEMPTS = 5;

/**
 * Adds a job in a transaction of its own; its first attempt pauses at `hold`. If the connection breaks, it is unknown
 * whether the job was added.
 */
export async function addJob(
  { services }: Cluster,
  journal: Journal,
  job: Job,
  hold: Hold = "nowhere",
  milliseconds = 0,
): Promise<AddedJob> {
  const added = noteJob(journal, "unknown");
  await services.db
    .transaction((tx) => services.jobs.add(tx, job, { key: added.key, hold, milliseconds }))
    .then(
      () => (added.outcome = "done"),
      () => {},
    );
  return added;
}

/** Adds a job, with retries, and returns its key. */
export async function addJobReliably(...job: Parameters<typeof addJob>): Promise<string> {
  for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
    const { key, outcome } = await addJob(...job);
    if (outcome === "done") return key;
  }
  throw new Error("No job could be added");
}

/** Adds a job in a transaction that is rolled back. */
export async function addRolledBackJob({ services }: Cluster, journal: Journal, job: Job): Promise<void> {
  const { key } = noteJob(journal, "never");
  await services.db
    .transaction(async (tx) => {
      await services.jobs.add(tx, job, { key, hold: "nowhere", milliseconds: 0 });
      throw new Error("rolled back");
    })
    .catch(() => {});
}

/** Adds a job in a transaction whose connection is reset before the commit; returns false if that did not happen. */
export async function addJobAndResetCommit({ services, proxy }: Cluster, journal: Journal, job: Job): Promise<boolean> {
  const { key } = noteJob(journal, "never");
  const isBroken = proxy.resetCommitOf(key, "before");
  await services.db
    .transaction((tx) => services.jobs.add(tx, job, { key, hold: "nowhere", milliseconds: 0 }))
    .catch(() => {});
  return isBroken();
}

export function noteJob(journal: Journal, outcome: AddedJob["outcome"]): AddedJob {
  const added: AddedJob = { key: nextName(journal), outcome };
  journal.jobs.push(added);
  return added;
}
