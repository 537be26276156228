import { sql } from "kysely";
import type { Databases, Db } from "#db/database.ts";
import type { Log } from "#db/log.ts";
import { makeEngine, onKysely } from "./engine.ts";
import { DEAD, type Queue } from "./queues.ts";

export interface DeadJob {
  readonly id: string;
  readonly queue: string;
  readonly job: string;
  readonly payload: unknown;
  readonly died_at: string;
  readonly message: string | null;
}

const MAX_LISTED = 1_000;

/** The most recently dead jobs, newest first. */
export async function deadJobs(db: Db): Promise<DeadJob[]> {
  const { rows } = await sql<DeadJob>`
    select id, source_name as queue, data ->> 'job' as job, data -> 'payload' as payload, created_on as died_at,
      source_output ->> 'message' as message
    from jobs.job
    where name = ${DEAD} and state = 'created'
    order by created_on desc
    limit ${sql.lit(MAX_LISTED)}`.execute(db);
  return rows;
}

/** Queues the dead jobs of a queue, or of all queues, again with all their retries; returns how many. */
export async function redrive(db: Databases, log: Log, queue?: Queue): Promise<number> {
  const engine = makeEngine(onKysely(db.write), log);
  const which = { limit: MAX_LISTED, ...(queue && { sourceName: queue }) };
  let moved = 0;
  for (;;) {
    const some = await engine.redrive(DEAD, which);
    moved += some;
    if (some < MAX_LISTED) return moved;
  }
}
