import { sql } from "kysely";
import Type from "typebox";
import { type TestApp, testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { type AnyJob, defineJob, type JobContext } from "./define.ts";
import { runWorker, type Worker } from "./worker.ts";

const payload = Type.Object({ id: Type.Integer() }, { additionalProperties: false });
type Run = (context: JobContext<{ id: number }>) => Promise<void>;

export const job = (name: string, run: Run, more: Partial<Parameters<typeof defineJob<typeof payload>>[0]> = {}) =>
  defineJob({ name: `test.${name}`, queue: "default", payload, run, ...more });

/** An application on its own database, whose workers keep their jobs however long the machine stalls. */
export async function workerApp(): Promise<TestApp> {
  const app = await testApp({
    databaseUrl: await freshDatabase(),
    env: { FAIRLEAD_JOB_CONCURRENCY: "critical=2,default=6,git=3" },
  });
  await sql`update jobs.queue set heartbeat_seconds = 3600 where heartbeat_seconds is not null`.execute(
    app.services.db.write,
  );
  return app;
}

/** Functions that run workers of an application, add jobs and tell which are left. */
export function workersOf(app: () => TestApp) {
  const workers: Worker[] = [];
  const db = () => app().services.db.write;
  const rows = async () => {
    const { rows } = await sql<{ name: string; state: string; retry_count: number; wait: number }>`
      select name, state, retry_count, extract(epoch from start_after - now())::float8 as wait
      from jobs.job where left(name, 2) <> '__' order by name`.execute(db());
    return rows;
  };
  return {
    db,
    rows,
    async start(...jobs: readonly AnyJob[]) {
      const worker = await runWorker(app().services, jobs);
      workers.push(worker);
      return worker;
    },
    async stopAll() {
      for (const worker of workers.splice(0)) await worker.stop();
    },
    add: (kind: Parameters<TestApp["services"]["jobs"]["add"]>[1], id = 1) =>
      app().services.db.transaction((tx) => app().services.jobs.add(tx, kind, { id })),
    running: () => until("it runs", async () => (await rows()).some(({ state }) => state === "active")),
    gone: () => until("no job is left", async () => (await rows()).length === 0),
    async clear() {
      for (const table of ["jobs.job", "jobs.schedule", "job_totals"]) {
        await sql`delete from ${sql.table(table)}`.execute(db());
      }
      await sql`update jobs.version set cron_on = null`.execute(db());
    },
  };
}
