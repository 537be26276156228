import type { Fault } from "#test/faults/fault.ts";
import { check, deadJobsAreCounted, noJobIsLost } from "#test/faults/invariants.ts";
import { poisonJob, quickJob } from "#test/faults/jobs.ts";
import { newJournal } from "#test/faults/journal.ts";
import { addJob } from "#test/faults/queueing.ts";

/** A job always fails: it is retried up to its limit, then dead, and does not block others. */
export const poison: Fault = {
  name: "poison",
  async run(cluster, times) {
    const [bad, good] = [newJournal(), newJournal()];
    for (let turn = 0; turn < times; turn++) {
      await addJob(cluster, bad, poisonJob);
      await addJob(cluster, good, quickJob);
    }
    const problems = await noJobIsLost(cluster, good);
    problems.push(...(await deadJobsAreCounted(cluster, bad)), ...(await check(cluster, bad)));
    return { count: times, seen: `${times} jobs that always fail, ${times} good ones among them`, problems };
  },

  controls: [
    {
      name: "a dead job that vanished",
      sees: /is nowhere/,
      async run(cluster) {
        const journal = newJournal();
        const { key } = await addJob(cluster, journal, poisonJob);
        await deadJobsAreCounted(cluster, journal);
        await cluster.engine.query("delete from jobs.job where data->'payload'->>'key' = $1", [key]);
        return deadJobsAreCounted(cluster, journal);
      },
    },
  ],
};
