import type { Cluster } from "./cluster.ts";
import { type Process, until } from "./supervisor.ts";

const HELD_LIMIT = 90_000;
const AGAIN_LIMIT = 120_000;

/** Plain tables without any constraint, so that nothing but the engine keeps an effect from happening twice. */
export const LEDGER = `
  create table fault_attempts (key text, attempt int, pid int, stage text, at timestamptz default clock_timestamp());
  create table fault_effects (key text, attempt int, pid int)`;

/** An attempt at a job that stands still, and the process that it runs in. */
export interface Held {
  readonly key: string;
  readonly attempt: number;
  readonly process: Process;
}

export async function holderOf({ engine, processes }: Cluster, key: string): Promise<Held> {
  const { value } = await until(`an attempt at ${key}`, HELD_LIMIT, async () => {
    const [row] = await engine.ask<{ attempt: number; pid: number }>(
      "select attempt, pid from fault_attempts where key = $1 and stage in ('before', 'inside', 'after')",
      [key],
    );
    const process = [...processes].findLast(({ pid }) => pid === row?.pid);
    return row && process && { key, attempt: row.attempt, process };
  });
  return value;
}

/** Waits until a job is tried again and gives the moment; none where its effect came before the fault did. */
export async function triedAgain({ engine }: Cluster, { key, attempt }: Held): Promise<number | undefined> {
  const { value } = await until(`another attempt at ${key}`, AGAIN_LIMIT, async () => {
    const [row] = await engine.ask<{ at: number | null; done: boolean }>(
      `select
         (select extract(epoch from min(at)) * 1000 from fault_attempts where key = $1 and attempt > $2)::float8 as at,
         exists (select from fault_effects where key = $1 and attempt = $2) as done`,
      [key, attempt],
    );
    return row && (row.at !== null || row.done) && { at: row.at ?? undefined };
  });
  return value.at;
}

/** Waits until an attempt at a job has come to its end, good or bad. */
export const endOf = ({ engine }: Cluster, { key, attempt }: Held) =>
  until(`the end of attempt ${attempt} at ${key}`, AGAIN_LIMIT, async () => {
    const ended = "select from fault_attempts where key = $1 and attempt = $2 and stage = 'ended'";
    return (await engine.ask(ended, [key, attempt])).length > 0;
  });

/** Waits until a later attempt has had the effect. */
export const overtaken = ({ engine }: Cluster, { key, attempt }: Held) =>
  until(`a later effect of ${key}`, AGAIN_LIMIT, async () => {
    const later = "select from fault_effects where key = $1 and attempt > $2";
    return (await engine.ask(later, [key, attempt])).length > 0;
  });
