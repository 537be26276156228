import { table } from "#bench/support/figures.ts";
import type { Answered } from "./ask.ts";
import { BOUNDS, type Kind } from "./request.ts";
import type { Tally } from "./tally.ts";

const MAX_P95_MS = 60;

/** Prints the durations of requests by list and kind, and checks the 95th percentile. */
export function reportTimes(answered: readonly Answered[], { check }: Tally) {
  const bounded = answered.filter(({ kind }) => BOUNDS[kind] <= 100).toSorted((a, b) => a.ms - b.ms);
  const percentile = (share: number) => bounded[Math.floor(bounded.length * share)]?.ms ?? Infinity;
  const p95 = percentile(0.95);
  if (bounded.length >= 100) check(p95 <= MAX_P95_MS, () => `95 in 100 requests took up to ${p95.toFixed(1)} ms`);
  console.log(`requests bound to 100 ms: p50 ${percentile(0.5).toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`);
  for (const { ms, name } of bounded.slice(-5).toReversed()) console.log(`  ${ms.toFixed(1)} ms ${name}`);

  const kinds = Object.keys(BOUNDS) as Kind[];
  const lists = Map.groupBy(answered, ({ list }) => list ?? "(no list)");
  const rows = [...lists]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([list, requests]) => [
      list,
      ...kinds.map((kind) => {
        const times = requests.filter((request) => request.kind === kind).map(({ ms }) => ms);
        return times.length === 0 ? "" : Math.max(...times);
      }),
    ]);
  const bounds = kinds.map((kind) => (BOUNDS[kind] === Infinity ? "" : BOUNDS[kind]));
  console.log(`slowest request in ms\n${table(["list", ...kinds], [["(bound)", ...bounds], ...rows])}`);
}
