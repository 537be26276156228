import { sql } from "kysely";
import type { Db } from "#db/database.ts";
import { DEAD, type Queue, QUEUES } from "./queues.ts";

export interface QueueState {
  /** Jobs that could run now. */
  readonly backlog: number;
  /** Whole seconds for which the oldest of them has waited. */
  readonly latency: number;
}

export type QueueStates = Readonly<Record<Queue | typeof DEAD, QueueState>>;

export interface WorkerProcess {
  readonly host: string;
  readonly pid: number;
  readonly tag: string;
  readonly started_at: string;
  readonly queues: string[];
  readonly concurrency: number;
  readonly busy: number;
}

export interface JobTotals {
  /** Attempts that ended since the installation, well or badly. */
  readonly processed: number;
  readonly failed: number;
}

/** Larger backlogs are not counted; the engine's own count of a few seconds ago is used instead. */
const MAX_COUNT = 10_000;
const MAX_PROCESSES = 1_000;

/** The state of each queue, and of the dead-letter queue. */
export async function readQueues(db: Db): Promise<QueueStates> {
  const { rows } = await sql<QueueState & { name: string }>`
    select q.name,
      greatest(waiting.count, case when waiting.count > ${sql.lit(MAX_COUNT)} then q.ready_count end) as backlog,
      coalesce(floor(extract(epoch from now() - least(fresh.since, again.since)))::integer, 0) as latency
    from jobs.queue q
    cross join lateral (
      select count(*)::integer from (
        select from jobs.job j
        where j.name = q.name and j.state in ('created', 'retry') and not j.blocked and j.start_after <= now()
        limit ${sql.lit(MAX_COUNT + 1)}
      ) as first
    ) as waiting (count)
    left join lateral (
      select j.start_after from jobs.job j
      where j.name = q.name and j.state = 'created' and not j.blocked and j.start_after <= now()
      order by j.start_after limit 1
    ) as fresh (since) on true
    left join lateral (
      select j.start_after from jobs.job j
      where j.name = q.name and j.state = 'retry' and not j.blocked and j.start_after <= now()
      order by j.start_after limit 1
    ) as again (since) on true
    where q.name = any(${[...QUEUES, DEAD]})`.execute(db);
  const found = new Map(rows.map(({ name, backlog, latency }) => [name, { backlog, latency }]));
  const state = (name: string) => [name, found.get(name) ?? { backlog: 0, latency: 0 }];
  return Object.fromEntries([...QUEUES, DEAD].map(state)) as QueueStates;
}

/** The worker processes in the engine's registry that were heard of within three heartbeats. */
export async function readProcesses(db: Db): Promise<WorkerProcess[]> {
  const { rows } = await sql<WorkerProcess>`
    select i.host, i.pid, i.name as tag, i.started_on as started_at, w.queues, w.concurrency, w.busy
    from jobs.instance i
    cross join lateral (
      select coalesce(array_agg(distinct queue order by queue), '{}') as queues,
        coalesce(sum("localConcurrency" * "batchSize"), 0)::integer as concurrency,
        coalesce(sum(active), 0)::integer as busy
      from jsonb_to_recordset(i.workers)
        as one (queue text, "localConcurrency" integer, "batchSize" integer, active integer)
    ) as w
    where w.concurrency > 0 and i.stopped_on is null
      and i.heartbeat_on > now() - 3 * i.heartbeat_seconds * interval '1 second'
    order by i.started_on, i.id
    limit ${sql.lit(MAX_PROCESSES)}`.execute(db);
  return rows;
}

export async function readTotals(db: Db): Promise<JobTotals> {
  const { rows } = await sql<JobTotals>`
    select coalesce(sum(processed), 0)::bigint as processed, coalesce(sum(failed), 0)::bigint as failed
    from job_totals`.execute(db);
  return rows[0] ?? { processed: 0, failed: 0 };
}
