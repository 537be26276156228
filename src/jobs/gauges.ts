import { Counter, Gauge, type Registry } from "prom-client";
import type { Databases } from "#db/database.ts";
import { DEAD, QUEUES } from "./queues.ts";
import { type JobTotals, type QueueState, readQueues, readTotals } from "./state.ts";

/** Registers the figures of jobs. They are read on each scrape; if the database does not respond, the last ones stay. */
export function meterJobs(registry: Registry, { read }: Databases) {
  const registers = [registry];
  const readAll = async () => ({ states: await readQueues(read), totals: await readTotals(read) });
  let reading: Promise<Awaited<ReturnType<typeof readAll>> | undefined> | undefined;
  // All gauges are collected in one turn of the event loop and share one read.
  const figures = () =>
    (reading ??= readAll()
      .catch(() => undefined)
      .finally(() => (reading = undefined)));

  const perQueue = (name: string, help: string, shown: keyof QueueState) =>
    new Gauge({
      name,
      help,
      registers,
      labelNames: ["queue"],
      async collect() {
        const found = await figures();
        if (found) for (const queue of QUEUES) this.set({ queue }, found.states[queue][shown]);
      },
    });
  const total = (name: string, help: string, shown: keyof JobTotals) =>
    new Counter({
      name,
      help,
      registers,
      async collect() {
        const found = await figures();
        if (!found) return;
        this.reset();
        this.inc(found.totals[shown]);
      },
    });

  const dead = () =>
    new Gauge({
      name: "fairlead_jobs_dead",
      help: "Jobs that used up their retries or were refused",
      registers,
      async collect() {
        const found = await figures();
        if (found) this.set(found.states[DEAD].backlog);
      },
    });

  perQueue("fairlead_jobs_backlog", "Jobs that could run now", "backlog");
  perQueue("fairlead_jobs_latency_seconds", "How long the oldest of them has waited", "latency");
  total("fairlead_jobs_processed_total", "Attempts at jobs that ended, well or badly", "processed");
  total("fairlead_jobs_failed_total", "Attempts at jobs that failed", "failed");
  dead();
}
