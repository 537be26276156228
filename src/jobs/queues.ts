import type { Config } from "#config.ts";

/** Queues are by what their jobs wait for, so that slow ones hold up only their like. */
export type Queue = keyof Config["jobConcurrency"];

/**
 * How many jobs are fetched at once. A batch is fetched again when all of it has ended, so queues of jobs that take
 * long fetch one by one.
 */
export const BATCH: Readonly<Record<Queue, number>> = { critical: 5, default: 5, git: 1, bulk: 1, ingest: 20, mail: 5 };

export const QUEUES = Object.keys(BATCH) as readonly Queue[];

/** Where jobs wait that used up their retries or were refused. */
export const DEAD = "dead";
