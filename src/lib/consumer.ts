import { networkOf } from "./networks.ts";

/** Who is charged for shared resources: git processes, memory for responses, connections. Both parts are counted. */
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
