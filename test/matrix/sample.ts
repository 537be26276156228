import { randomFrom } from "#test/git/random.ts";
import { seedOf } from "#test/fuzz/seed.ts";
import type { Cell } from "./cells.ts";

/** Which cells to run: one in so many of each endpoint, chosen by the seed. */
export interface Sample {
  readonly oneIn: number;
  readonly seed: number;
}

/**
 * A part of the cells of one endpoint, in their order: evenly over the callers and by chance over everything else,
 * with at least one cell that is allowed and one that is refused if there are any.
 */
export function sampleOf(cells: readonly Cell[], { oneIn, seed }: Sample, index: number): readonly Cell[] {
  if (oneIn === 1) return cells;
  const random = randomFrom(seedOf(seed, index));
  // Sorting is stable, so the cells of one caller stay shuffled.
  const byCaller = shuffled(cells, random.below).toSorted((a, b) => compare(a.caller.name, b.caller.name));
  const start = random.below(oneIn);
  const chosen = new Set(byCaller.filter((_, at) => at % oneIn === start));
  for (const isWanted of [isAllowed, isRefused]) {
    const wanted = byCaller.filter(isWanted);
    if (wanted.length > 0 && !wanted.some((cell) => chosen.has(cell))) chosen.add(random.pick(wanted));
  }
  return cells.filter((cell) => chosen.has(cell));
}

export const isAllowed = ({ expected }: Cell): boolean => expected !== "refused" && expected < 300;
export const isRefused = ({ expected }: Cell): boolean => expected === "refused" || expected >= 400;

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

function shuffled<T>(values: readonly T[], below: (limit: number) => number): T[] {
  const list = [...values];
  for (let at = list.length - 1; at > 0; at--) {
    const other = below(at + 1);
    [list[at], list[other]] = [list[other] as T, list[at] as T];
  }
  return list;
}
