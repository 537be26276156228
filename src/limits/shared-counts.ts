import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Logger } from "pino";
import type { Databases } from "#db/database.ts";
import type { Limiter } from "./rate-limits.ts";

const INTERVAL_MS = 1000;

/** Adds up the counts of all processes: publishes those of this one and reads the others' once a second. */
export function shareLimits(db: Databases, limiter: Limiter, log: Logger): { stop(): void } {
  const process = randomUUID();
  let busy = false;
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    exchangeCounts(db, limiter, process)
      // Until the next success each process counts alone.
      .catch((error: unknown) => log.warn({ err: error }, "could not share the rate limits"))
      .finally(() => (busy = false));
  }, INTERVAL_MS).unref();
  return { stop: () => clearInterval(timer) };
}

async function exchangeCounts(db: Databases, limiter: Limiter, process: string) {
  const { minute, counts } = limiter.drain();
  if (counts.size === 0) return;
  const keys = [...counts.keys()];
  // Not over the connections of point reads: these are many rows, and every token lookup would wait behind them.
  await sql`
    insert into rate_counts (minute, key, process, count)
    select ${minute}::integer, key, ${process}, count
    from unnest(${keys}::text[], ${[...counts.values()]}::integer[]) as mine (key, count)
    on conflict (minute, key, process) do update set count = excluded.count`.execute(db.write);
  const others = await sql<{ key: string; count: number }>`
    select key, sum(count)::integer as count from rate_counts
    where minute = ${minute}::integer and key = any(${keys}::text[]) and process <> ${process}
    group by key`.execute(db.write);
  limiter.setOthers(minute, new Map(others.rows.map(({ key, count }) => [key, count])));
  await sql`delete from rate_counts where minute < ${minute - 1}::integer`.execute(db.write);
}
