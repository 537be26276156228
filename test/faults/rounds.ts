import { type Cluster, READY_TIMEOUT_MS, type Web } from "./cluster.ts";
import { delays, type Report } from "./fault.ts";
import { check, noJobIsLost } from "./invariants.ts";
import { newJournal, summaryOf } from "./journal.ts";
import { underTraffic } from "./traffic.ts";

/**
 * Causes a fault repeatedly under traffic and checks all invariants after each. `cause` returns the milliseconds from
 * the end of the fault until everything was ready.
 */
export async function rounds(
  cluster: Cluster,
  count: number,
  webs: readonly Web[],
  cause: (round: number) => Promise<number>,
): Promise<Report> {
  const journal = newJournal();
  const ready: number[] = [];
  const problems: string[] = [];
  for (let round = 0; round < count && problems.length === 0; round++) {
    const took = await underTraffic(cluster, webs, journal, () => cause(round));
    ready.push(took);
    const found = await check(cluster, journal);
    if (took > READY_TIMEOUT_MS) found.push(`ready only after ${Math.round(took)} ms`);
    problems.push(...found.map((problem) => `round ${round + 1}: ${problem}`));
  }
  problems.push(...(await noJobIsLost(cluster, journal)));
  return { count: ready.length, seen: `${summaryOf(journal)}; ready again: ${delays(ready)}`, problems };
}
