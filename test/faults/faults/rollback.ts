import type { Cluster } from "#test/faults/cluster.ts";
import type { Fault } from "#test/faults/fault.ts";
import { check, jobsHappenOnce, noJobIsLost } from "#test/faults/invariants.ts";
import { quickJob } from "#test/faults/jobs.ts";
import { newJournal } from "#test/faults/journal.ts";
import { addJobReliably, addRolledBackJob, addJobAndResetCommit, noteJob } from "#test/faults/queueing.ts";

const JOBS_PER_ROUND = 10;

/** A transaction that added a job is rolled back, or its connection breaks before the commit: the job never runs. */
export const rollback: Fault = {
  name: "rollback",
  async run(cluster, times) {
    const journal = newJournal();
    const count = times * JOBS_PER_ROUND;
    let broken = 0;
    for (let turn = 0; turn < count; turn++) {
      await addRolledBackJob(cluster, journal, quickJob);
      if (await addJobAndResetCommit(cluster, journal, quickJob)) broken++;
    }
    await addJobReliably(cluster, journal, quickJob);
    const problems = [...(await noJobIsLost(cluster, journal)), ...(await check(cluster, journal))];
    if (broken !== count) problems.push(`${broken} commits were hit, not ${count}`);
    return { count: 2 * count, seen: `${count} rolled back, ${broken} broken off`, problems };
  },

  controls: [
    {
      name: "a job that is added outside the transaction",
      sees: /was rolled back and ran/,
      async run(cluster) {
        const journal = newJournal();
        const { key } = noteJob(journal, "never");
        await addOutsideTransaction(cluster, key).catch(() => {});
        await addJobReliably(cluster, journal, quickJob);
        await noJobIsLost(cluster, journal);
        return jobsHappenOnce(cluster, journal);
      },
    },
  ],
};

const addOutsideTransaction = ({ services: { db, jobs } }: Cluster, key: string) =>
  db.transaction(async () => {
    await db.transaction((tx) => jobs.add(tx, quickJob, { key, hold: "nowhere", milliseconds: 0 }));
    throw new Error("rolled back");
  });
