import type { Cluster } from "#test/faults/cluster.ts";
import { delays, type Fault } from "#test/faults/fault.ts";
import { check, jobsHappenOnce, noJobIsLost } from "#test/faults/invariants.ts";
import { carelessJob, slowJob } from "#test/faults/jobs.ts";
import { type Journal, newJournal, summaryOf } from "#test/faults/journal.ts";
import { holderOf, nextAttempt } from "#test/faults/ledger.ts";
import { addJobReliably } from "#test/faults/queueing.ts";
import type { Process } from "#test/faults/supervisor.ts";
import { underTraffic } from "#test/faults/traffic.ts";

/** Workers that are killed at once: a round takes as long as a heartbeat, however many there are. */
const CONCURRENT = 8;
/** Workers that take over while the killed ones restart. */
const SPARE_WORKERS = 2;
const PICK_UP_TIMEOUT_MS = 15_000;
/** Longer than any round, so that no first attempt ends by itself. */
const LONG_HOLD_MS = 60_000;
/** About as long as the harness takes to notice, so that the kill is close to the commit. */
const SHORT_HOLD_MS = 20;

/** A worker dies by `kill -9` in the middle of a job: before its transaction, inside it, or about when it commits. */
export const workerKill: Fault = {
  name: "worker-kill",
  waits: true,
  async run(cluster, times) {
    const journal = newJournal();
    const picked: number[] = [];
    const problems: string[] = [];
    const workers = Array.from({ length: Math.min(CONCURRENT, times) + SPARE_WORKERS }, () =>
      cluster.startWorker(["git"]),
    );
    let killed = 0;
    while (killed < times && problems.length === 0) {
      const size = Math.min(CONCURRENT, times - killed);
      const round = () => killHolders(cluster, journal, workers, size);
      const { dead, delayed } = await underTraffic(cluster, cluster.webs, journal, round);
      killed += dead;
      picked.push(...delayed);
      problems.push(...(await check(cluster, journal)));
    }
    problems.push(...(await noJobIsLost(cluster, journal)));
    await Promise.all(workers.map((worker) => worker.stop()));
    const late = picked.filter((delay) => delay > PICK_UP_TIMEOUT_MS);
    if (late.length > 0) problems.push(`${late.length} jobs were picked up again later than ${PICK_UP_TIMEOUT_MS} ms`);
    const again = `${picked.length} jobs picked up again: ${delays(picked)}`;
    return { count: killed, seen: `${summaryOf(journal)}; ${again}`, problems };
  },

  controls: [
    {
      name: "a job whose effect is not in its own transaction",
      sees: /has its effect 2 times/,
      async run(cluster) {
        const journal = newJournal();
        const worker = cluster.startWorker(["bulk"]);
        const held = await holderOf(
          cluster,
          await addJobReliably(cluster, journal, carelessJob, "after", LONG_HOLD_MS),
        );
        await held.process.kill();
        const other = cluster.startWorker(["bulk"]);
        await noJobIsLost(cluster, journal);
        await Promise.all([worker.stop(), other.stop()]);
        return jobsHappenOnce(cluster, journal);
      },
    },
  ],
};

/** Kills the workers of `size` jobs, and returns how many they were and when their jobs ran again. */
async function killHolders(cluster: Cluster, journal: Journal, workers: Process[], size: number) {
  const killed = new Set<Process>();
  const kill = async (place: "before" | "inside", milliseconds: number) => {
    const held = await holderOf(cluster, await addJobReliably(cluster, journal, slowJob, place, milliseconds));
    const from = Date.now();
    await held.process.kill();
    killed.add(held.process);
    workers.push(cluster.startWorker(["git"]));
    return { held, from };
  };
  const long = Array.from({ length: size - Math.floor(size / 3) }, (_, index) =>
    kill(index % 2 === 0 ? "before" : "inside", LONG_HOLD_MS),
  );
  const victims = await Promise.all(long);
  // One at a time: a worker that ends its job before the kill would otherwise have begun the next.
  while (victims.length < size) victims.push(await kill("inside", SHORT_HOLD_MS));
  // A worker of the short jobs is killed as well, with the jobs it has fetched.
  const [standing] = cluster.workers;
  await standing.kill();
  standing.start();

  const delayed = victims.map(async ({ held, from }) => ((await nextAttempt(cluster, held)) ?? NaN) - from);
  return { dead: killed.size, delayed: (await Promise.all(delayed)).filter((delay) => !Number.isNaN(delay)) };
}
