import type { Cluster } from "./cluster.ts";
import type { Hold, Job } from "./jobs.ts";
import { type Added, type Journal, nextName } from "./journal.ts";

const MOST_TRIES = 5;

/**
 * Adds a job in a transaction of its own, whose first attempt stands still for a while where it is told to. Whether it
 * was added is known only where nothing broke meanwhile.
 */
export async function addJob(
  { services }: Cluster,
  journal: Journal,
  job: Job,
  hold: Hold = "nowhere",
  milliseconds = 0,
): Promise<Added> {
  const added = noteJob(journal, "unknown");
  await services.db
    .transaction((tx) => services.jobs.add(tx, job, { key: added.key, hold, milliseconds }))
    .then(
      () => (added.outcome = "done"),
      () => {},
    );
  return added;
}

/** Adds a job however busy the machine is, and gives its key. */
export async function addSurely(...job: Parameters<typeof addJob>): Promise<string> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const { key, outcome } = await addJob(...job);
    if (outcome === "done") return key;
  }
  throw new Error("No job could be added");
}

/** Adds a job in a transaction that is rolled back. */
export async function addJobInVain({ services }: Cluster, journal: Journal, job: Job): Promise<void> {
  const { key } = noteJob(journal, "never");
  await services.db
    .transaction(async (tx) => {
      await services.jobs.add(tx, job, { key, hold: "nowhere", milliseconds: 0 });
      throw new Error("rolled back");
    })
    .catch(() => {});
}

/** Adds a job in a transaction whose connection breaks before PostgreSQL hears the commit; false where it did not. */
export async function breakOffJob({ services, proxy }: Cluster, journal: Journal, job: Job): Promise<boolean> {
  const { key } = noteJob(journal, "never");
  const isBroken = proxy.resetCommitOf(key, "before");
  await services.db
    .transaction((tx) => services.jobs.add(tx, job, { key, hold: "nowhere", milliseconds: 0 }))
    .catch(() => {});
  return isBroken();
}

export function noteJob(journal: Journal, outcome: Added["outcome"]): Added {
  const added: Added = { key: nextName(journal), outcome };
  journal.jobs.push(added);
  return added;
}
