import type { Static, TSchema } from "typebox";
import type { Tx } from "#db/database.ts";
import type { Services } from "#services.ts";
import type { JobKind } from "./kind.ts";

/** What an attempt at a job works with. */
export interface JobContext<Payload> {
  /** The same for every attempt. */
  readonly id: string;
  readonly payload: Payload;
  readonly services: Services;
  /** Aborted when the attempt lost its job or the process stops: nothing it does afterwards is committed. */
  readonly signal: AbortSignal;
  /** From 1. */
  readonly attempt: number;
  /** Does a part of the work in one transaction, which commits only while this attempt holds the job. */
  step<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Does the last part: the work and the end of the job commit together, exactly once. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** A job with any payload, as lists hold them. */
export interface AnyJob extends Omit<JobKind, "key"> {
  /** When the engine queues it with an empty payload: `minute hour day month weekday` in UTC. */
  readonly cron?: string;
  run(context: never): Promise<void>;
}

/**
 * Work that a transaction queues and a worker does. It may be retried from its beginning at any time, so it is
 * idempotent or does all its work in `transaction`.
 */
export const defineJob = <Payload extends TSchema>(
  job: JobKind<Payload> & {
    readonly cron?: string;
    run(context: JobContext<Static<Payload>>): Promise<void>;
  },
) => job;
