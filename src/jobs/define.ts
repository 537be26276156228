import type { Static, TSchema } from "typebox";
import type { Tx } from "#db/database.ts";
import type { Services } from "#services.ts";
import type { Queue } from "./queues.ts";

/** What a job is given to do its work. */
export interface JobContext<Payload> {
  /** The same at every attempt. */
  readonly id: string;
  readonly payload: Payload;
  readonly services: Services;
  /** Turned on when the attempt lost its job or the process leaves: what it still does will not count. */
  readonly signal: AbortSignal;
  /** From 1. */
  readonly attempt: number;
  /** Does a part of the work in one transaction, which commits only while this attempt holds the job. */
  step<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Does the last part: it and the end of the job commit together, exactly once. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** What adding a job needs to know of it. */
export interface JobKind<Payload extends TSchema = TSchema> {
  /** Waiting jobs carry it, so it stays as it is. */
  readonly name: string;
  readonly queue: Queue;
  readonly payload: Payload;
  /** How often a failed job is tried again before it is dead. */
  readonly retries?: number;
  /** Seconds before the first retry, doubled for each further one up to the most. */
  readonly backoff?: { readonly first: number; readonly most: number };
  /** Of the jobs of one key at most one waits; adding another renews its payload. */
  key?(payload: Static<Payload>): string;
}

/** A job of any payload, as lists hold them. */
export interface AnyJob extends Omit<JobKind, "key"> {
  /** When it is queued by itself, with an empty payload: `minute hour day month weekday` in UTC. */
  readonly cron?: string;
  run(context: never): Promise<void>;
}

/**
 * Work that is queued by a transaction and done by a worker. It may be tried again from its beginning at any time, so
 * it bears that, or does all its work in `transaction`.
 */
export const defineJob = <Payload extends TSchema>(
  job: JobKind<Payload> & {
    readonly cron?: string;
    run(context: JobContext<Static<Payload>>): Promise<void>;
  },
) => job;
