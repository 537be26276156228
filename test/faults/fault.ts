import type { Cluster } from "./cluster.ts";

/** A way in which parts fail, the checks afterwards, and controls that prove the checks. */
export interface Fault {
  readonly name: string;
  /** Causes the fault `times` times or in proportion; `messages` is for faults that send mail. */
  run(cluster: Cluster, times: number, messages: number): Promise<Report>;
  readonly controls: readonly Control[];
  /** Mostly waits, so it runs concurrently with its controls and other waiting faults. */
  readonly waits?: true;
}

export interface Report {
  readonly count: number;
  /** One line of figures. */
  readonly seen: string;
  readonly problems: readonly string[];
}

/** The fault with a planted breach: the checks have to find what `sees` describes. */
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
