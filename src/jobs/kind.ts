import type { Static, TSchema } from "typebox";
import type { Queue } from "./queues.ts";

/** What adding a job needs to know of it. */
export interface JobKind<Payload extends TSchema = TSchema> {
  /** Queued jobs carry it, so it never changes. */
  readonly name: string;
  readonly queue: Queue;
  readonly payload: Payload;
  /** How often a failed job is retried before it is dead. */
  readonly retries?: number;
  /** Seconds before the first retry, doubled for each further one up to `max`. */
  readonly backoff?: { readonly first: number; readonly max: number };
  /** At most one job of a key waits; adding another replaces its payload. */
  key?(payload: Static<Payload>): string;
}
