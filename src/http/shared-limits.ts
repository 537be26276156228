import { randomUUID } from "node:crypto";
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
  await db.point.query(
    `insert into rate_counts (minute, key, process, count)
     select $1::integer, key, $2, count from unnest($3::text[], $4::integer[]) as mine (key, count)
     on conflict (minute, key, process) do update set count = excluded.count`,
    [minute, process, keys, [...counts.values()]],
  );
  const others = await db.point.query<{ key: string; count: number }>(
    `select key, sum(count)::integer as count from rate_counts
     where minute = $1::integer and key = any($2::text[]) and process <> $3 group by key`,
    [minute, keys, process],
  );
  limiter.setOthers(minute, new Map(others.map(({ key, count }) => [key, count])));
  await db.point.query("delete from rate_counts where minute < $1::integer", [minute - 1]);
}
