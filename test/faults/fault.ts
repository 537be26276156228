import type { Cluster } from "./cluster.ts";

/** One way in which parts fail, what must hold afterwards, and the proof that a breach would be seen. */
export interface Fault {
  readonly name: string;
  /** Lets it happen so many times, or in proportion; `messages` is for those who send some. */
  run(cluster: Cluster, times: number, messages: number): Promise<Report>;
  readonly controls: readonly Control[];
  /** Mostly waits, and so happens at the same time as its controls and as others that wait. */
  readonly waits?: true;
}

export interface Report {
  /** How often it happened. */
  readonly count: number;
  /** What was seen, with figures, in a line. */
  readonly seen: string;
  readonly problems: readonly string[];
}

/** The same fault on something that is known to be wrong: the checker has to find what `sees` describes. */
export interface Control {
  readonly name: string;
  readonly sees: RegExp;
  run(cluster: Cluster): Promise<readonly string[]>;
}

/** Such as "median 0.9 s, worst 1.4 s". */
export function delays(milliseconds: readonly number[]): string {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const seconds = (value = 0) => `${(value / 1000).toFixed(1)} s`;
  return `median ${seconds(sorted[sorted.length >> 1])}, worst ${seconds(sorted.at(-1))}`;
}
