import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Logger } from "pino";
import type { Databases } from "#db/database.ts";
import type { Limiter } from "./limits.ts";

/** Tells the other web processes what this one counted, and learns what they did, once a second. */
export function shareLimits(db: Databases, limiter: Limiter, log: Logger): { stop(): void } {
  const process = randomUUID();
  let busy = false;
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    exchange(db, limiter, process)
      // Each process then counts alone for a while.
      .catch((error: unknown) => log.warn({ err: error }, "could not share the rate limits"))
      .finally(() => (busy = false));
  }, 1000).unref();
  return { stop: () => clearInterval(timer) };
}

async function exchange(db: Databases, limiter: Limiter, process: string) {
  const { minute, counts } = limiter.drain();
  if (counts.size === 0) return;
  const keys = [...counts.keys()];
  // Not over the connections of point reads: these rows are many, and everybody's token would wait behind them.
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
