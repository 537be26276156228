import type { JobConnections } from "#db/job-connections.ts";
import type { Log } from "#db/log.ts";
import type { Engine } from "./engine.ts";
import { QUEUES } from "./queues.ts";

interface QueueLook {
  readonly name: string;
  /** Milliseconds until its next job is due, negative if one is due already; null if none waits. */
  readonly due_in: number | null;
  readonly active: boolean;
}

const INTERVAL_MS = 1_000;
const MIN_PAUSE_MS = 10;

const LOOK = `
  select q.name, ceil(extract(epoch from least(fresh.due, again.due) - now()) * 1000)::float8 as due_in,
    exists (select from jobs.job j where j.name = q.name and j.state = 'active') as active
  from unnest($1::text[]) as q (name)
  left join lateral (
    select j.start_after from jobs.job j where j.name = q.name and j.state = 'created' and not j.blocked
    order by j.start_after limit 1
  ) as fresh (due) on true
  left join lateral (
    select j.start_after from jobs.job j where j.name = q.name and j.state = 'retry' and not j.blocked
    order by j.start_after limit 1
  ) as again (due) on true`;

/**
 * Looks at all queues with one statement a second. It wakes the fetchers of a queue for what no notification tells of:
 * retries, jobs with a start time, jobs of schedules and of lost workers. While jobs wait or run, it also makes the
 * engine look for lost workers. So fetchers and engine need not poll by themselves, and an idle process does little.
 */
export function watchJobs(engine: Engine, connections: JobConnections, log: Log): { stop(): Promise<void> } {
  let stopped = false;
  let failing = false;
  let timer: NodeJS.Timeout | undefined;
  let looking = Promise.resolve();
  let supervising: Promise<void> | undefined;
  const warn = (error: unknown) => {
    if (!failing) log.warn({ reason: String(error) }, "could not look after the queues; will retry");
    failing = true;
  };

  // Not awaited, since it may rebuild an index for seconds.
  function supervise() {
    supervising ??= engine
      .supervise()
      .catch(warn)
      .finally(() => (supervising = undefined));
  }

  async function look(): Promise<number> {
    const fetchers = engine.getWipData({ includeInternal: true });
    const names = [...new Set([...QUEUES, ...fetchers.map(({ name }) => name)])];
    const { rows }: { rows: QueueLook[] } = await connections.executeSql(LOOK, [names]);
    const due = new Set(rows.filter(({ due_in }) => due_in !== null && due_in <= 0).map(({ name }) => name));
    for (const { id, name, count } of fetchers) if (count === 0 && due.has(name)) engine.notifyWorker(id);
    if (due.size > 0 || rows.some(({ active }) => active)) supervise();
    const later = rows.flatMap(({ due_in }) => (due_in !== null && due_in > 0 ? [due_in] : []));
    return Math.max(Math.min(INTERVAL_MS, ...later), MIN_PAUSE_MS);
  }

  async function round() {
    let pause = INTERVAL_MS;
    try {
      pause = await look();
      failing = false;
    } catch (error) {
      warn(error);
    }
    if (!stopped) begin(pause);
  }

  function begin(pause: number) {
    timer = setTimeout(() => (looking = round()), pause);
  }

  begin(INTERVAL_MS);
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
      return looking;
    },
  };
}
