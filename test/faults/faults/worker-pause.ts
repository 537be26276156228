import type { Cluster } from "#test/faults/cluster.ts";
import type { Fault } from "#test/faults/fault.ts";
import { check, jobsHappenOnce, noJobIsLost } from "#test/faults/invariants.ts";
import { carelessJob, type Job, slowJob } from "#test/faults/jobs.ts";
import { type Journal, newJournal } from "#test/faults/journal.ts";
import { endOf, holderOf, overtaken } from "#test/faults/ledger.ts";
import { addJobReliably } from "#test/faults/queueing.ts";

const CONCURRENT = 8;
/** Long enough to pause the process in it, and over when the process continues. */
const HOLD_MS = 8_000;

/** A worker is paused past its heartbeat and continues after another did its job: too late to write anything. */
export const workerPause: Fault = {
  name: "worker-pause",
  waits: true,
  async run(cluster, times) {
    const journal = newJournal();
    for (let done = 0; done < times; done += CONCURRENT) {
      await overtake(cluster, journal, slowJob, Math.min(CONCURRENT, times - done));
    }
    const problems = [...(await check(cluster, journal)), ...(await noJobIsLost(cluster, journal))];
    return { count: times, seen: `${times} late attempts, each after another had done the job`, problems };
  },

  controls: [
    {
      name: "a job that writes whether it still holds its job or not",
      sees: /has its effect 2 times/,
      async run(cluster) {
        const journal = newJournal();
        await overtake(cluster, journal, carelessJob, 1);
        return jobsHappenOnce(cluster, journal);
      },
    },
  ],
};

/** Pauses workers during their jobs, lets a spare one do the jobs, and resumes the others. */
async function overtake(cluster: Cluster, journal: Journal, job: Job, size: number) {
  const workers = Array.from({ length: size + 1 }, () => cluster.startWorker([job.queue]));
  await Promise.all(
    Array.from({ length: size }, async (_, index) => {
      const place = index % 2 === 0 ? "before" : "inside";
      const held = await holderOf(cluster, await addJobReliably(cluster, journal, job, place, HOLD_MS));
      held.process.pause();
      await overtaken(cluster, held);
      held.process.resume();
      await endOf(cluster, held);
    }),
  );
  await Promise.all(workers.map((worker) => worker.stop()));
}
