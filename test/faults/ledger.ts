import type { Cluster } from "./cluster.ts";
import { type Process, until } from "./supervisor.ts";

const HOLD_TIMEOUT_MS = 90_000;
const RETRY_TIMEOUT_MS = 120_000;

/** Tables without constraints, so that only the job engine prevents a second effect. */
export const LEDGER = `
  create table fault_attempts (key text, attempt int, pid int, stage text, at timestamptz default clock_timestamp());
  create table fault_effects (key text, attempt int, pid int)`;

/** A paused attempt and its process. */
export interface Held {
  readonly key: string;
  readonly attempt: number;
  readonly process: Process;
}

export async function holderOf({ engine, processes }: Cluster, key: string): Promise<Held> {
  const { value } = await until(`an attempt at ${key}`, HOLD_TIMEOUT_MS, async () => {
    const [row] = await engine.query<{ attempt: number; pid: number }>(
      "select attempt, pid from fault_attempts where key = $1 and stage in ('before', 'inside', 'after')",
      [key],
    );
    const process = [...processes].findLast(({ pid }) => pid === row?.pid);
    return row && process && { key, attempt: row.attempt, process };
  });
  return value;
}

/** Waits for the next attempt and returns its time; undefined if the effect preceded the fault. */
export async function nextAttempt({ engine }: Cluster, { key, attempt }: Held): Promise<number | undefined> {
  const { value } = await until(`another attempt at ${key}`, RETRY_TIMEOUT_MS, async () => {
    const [row] = await engine.query<{ at: number | null; done: boolean }>(
      `select
         (select extract(epoch from min(at)) * 1000 from fault_attempts where key = $1 and attempt > $2)::float8 as at,
         exists (select from fault_effects where key = $1 and attempt = $2) as done`,
      [key, attempt],
    );
    return row && (row.at !== null || row.done) && { at: row.at ?? undefined };
  });
  return value.at;
}

/** Waits until an attempt has ended, successfully or not. */
export const endOf = ({ engine }: Cluster, { key, attempt }: Held) =>
  until(`the end of attempt ${attempt} at ${key}`, RETRY_TIMEOUT_MS, async () => {
    const ended = "select from fault_attempts where key = $1 and attempt = $2 and stage = 'ended'";
    return (await engine.query(ended, [key, attempt])).length > 0;
  });

/** Waits until a later attempt has had the effect. */
export const overtaken = ({ engine }: Cluster, { key, attempt }: Held) =>
  until(`a later effect of ${key}`, RETRY_TIMEOUT_MS, async () => {
    const later = "select from fault_effects where key = $1 and attempt > $2";
    return (await engine.query(later, [key, attempt])).length > 0;
  });
