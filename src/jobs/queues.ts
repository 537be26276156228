import type { Config } from "#config.ts";

/** Queues are by what their jobs wait for, so that slow ones delay only their own kind. */
export type Queue = keyof Config["jobConcurrency"];

/**
 * How many jobs a fetcher takes at once. It fetches again once its whole batch has ended, so queues of long jobs fetch
 * one by one.
 */
export const BATCH: Readonly<Record<Queue, number>> = {
  ...{ critical: 5, default: 5, git: 1, moves: 1, bulk: 1, ingest: 20, mail: 5, notifications: 5, outbound: 1 },
};

export const QUEUES = Object.keys(BATCH) as readonly Queue[];

/** The dead-letter queue: jobs that used up their retries or were refused. */
export const DEAD = "dead";
