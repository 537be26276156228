import { networkOf } from "./networks.ts";

/** Who draws on what all callers share: git processes, memory for answers, connections. Each part is counted. */
export interface Consumer {
  /** Such as `user 42` or `deploy key 7`; undefined for a caller who is not signed in. */
  readonly principal: string | undefined;
  readonly network: string;
}

export const consumerOf = (address: string, principal?: string): Consumer => ({
  principal,
  network: networkOf(address),
});

/** The work of this process itself, such as jobs: bounded by its own concurrency, it counts for nobody. */
export const BACKGROUND: Consumer = Object.freeze({ principal: "background", network: "" });
