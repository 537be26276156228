import type { Cluster } from "#test/faults/cluster.ts";
import { delays, type Fault } from "#test/faults/fault.ts";
import { check, jobsHappenOnce, noJobIsLost } from "#test/faults/invariants.ts";
import { carelessJob, slowJob } from "#test/faults/jobs.ts";
import { type Journal, newJournal, summaryOf } from "#test/faults/journal.ts";
import { holderOf, triedAgain } from "#test/faults/ledger.ts";
import { addSurely } from "#test/faults/queueing.ts";
import type { Process } from "#test/faults/supervisor.ts";
import { underTraffic } from "#test/faults/traffic.ts";

/** How many workers are killed at once: a round takes as long as a heartbeat, however many there are. */
const ABREAST = 8;
/** Who is there to take over while those that were killed start again. */
const SPARE = 2;
const PICKED_UP_LIMIT = 15_000;
/** Longer than any round, so that no first attempt ends by itself. */
const LONG = 60_000;
/** About as long as the harness takes to notice, so that the kill comes about when the commit does. */
const BRIEF = 20;

/** A worker dies by `kill -9` in the middle of a job: before its transaction, inside it, or about when it commits. */
export const workerKill: Fault = {
  name: "worker-kill",
  waits: true,
  async run(cluster, times) {
    const journal = newJournal();
    const picked: number[] = [];
    const problems: string[] = [];
    const workers = Array.from({ length: Math.min(ABREAST, times) + SPARE }, () => cluster.startWorker(["git"]));
    let killed = 0;
    while (killed < times && problems.length === 0) {
      const size = Math.min(ABREAST, times - killed);
      const round = () => killHolders(cluster, journal, workers, size);
      const { dead, delayed } = await underTraffic(cluster, cluster.webs, journal, round);
      killed += dead;
      picked.push(...delayed);
      problems.push(...(await check(cluster, journal)));
    }
    problems.push(...(await noJobIsLost(cluster, journal)));
    await Promise.all(workers.map((worker) => worker.stop()));
    const late = picked.filter((delay) => delay > PICKED_UP_LIMIT);
    if (late.length > 0) problems.push(`${late.length} jobs were picked up again later than ${PICKED_UP_LIMIT} ms`);
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
        const held = await holderOf(cluster, await addSurely(cluster, journal, carelessJob, "after", LONG));
        await held.process.kill();
        const other = cluster.startWorker(["bulk"]);
        await noJobIsLost(cluster, journal);
        await Promise.all([worker.stop(), other.stop()]);
        return jobsHappenOnce(cluster, journal);
      },
    },
  ],
};

/** Kills the workers that hold so many jobs, and says how many those were and after how long their jobs ran again. */
async function killHolders(cluster: Cluster, journal: Journal, workers: Process[], size: number) {
  const killed = new Set<Process>();
  const kill = async (place: "before" | "inside", milliseconds: number) => {
    const held = await holderOf(cluster, await addSurely(cluster, journal, slowJob, place, milliseconds));
    const from = Date.now();
    await held.process.kill();
    killed.add(held.process);
    workers.push(cluster.startWorker(["git"]));
    return { held, from };
  };
  const long = Array.from({ length: size - Math.floor(size / 3) }, (_, index) =>
    kill(index % 2 === 0 ? "before" : "inside", LONG),
  );
  const victims = await Promise.all(long);
  // One by one: a worker that is done before the kill comes would else have begun the next.
  while (victims.length < size) victims.push(await kill("inside", BRIEF));
  // One that runs the short jobs dies as well, with whatever it had fetched.
  const [standing] = cluster.workers;
  await standing.kill();
  standing.start();

  const delayed = victims.map(async ({ held, from }) => ((await triedAgain(cluster, held)) ?? NaN) - from);
  return { dead: killed.size, delayed: (await Promise.all(delayed)).filter((delay) => !Number.isNaN(delay)) };
}
