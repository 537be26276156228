import { sql } from "kysely";
import { setTimeout as sleep } from "node:timers/promises";
import { testApp } from "#test/support/app.ts";
import { freshDatabase } from "#test/support/postgres.ts";
import { until } from "#test/support/until.ts";
import { holdingJob, startWorker } from "#test/support/worker.ts";
const app = await testApp({ databaseUrl: await freshDatabase() });
const db = app.services.db.write;
await sql`create table gate ()`.execute(db);
const times: number[] = [];
for (let i = 0; i < 12; i++) {
  await sql`delete from gate`.execute(db);
  const a = await startWorker(app.services.databaseUrl, "default");
  await app.services.db.transaction((tx) => app.services.jobs.add(tx, holdingJob, {}));
  const row = async () =>
    (
      await sql<{
        state: string;
        retry_count: number;
        started: number;
      }>`select state, retry_count, extract(epoch from started_on)::float8 * 1000 as started from jobs.job where name = 'default'`.execute(
        db,
      )
    ).rows[0];
  await until("held", async () => (await row())?.state === "active");
  const b = await startWorker(app.services.databaseUrl, "default");
  await sleep(Math.random() * 4000);
  const { rows } = await sql<{
    now: number;
  }>`select extract(epoch from clock_timestamp())::float8 * 1000 as now`.execute(db);
  await a.end("SIGKILL");
  const again = await until(
    "again",
    async () => {
      const r = await row();
      return r?.state === "active" && r.retry_count === 1 && r;
    },
    40000,
  );
  times.push((again.started - rows[0]!.now) / 1000);
  await sql`insert into gate default values`.execute(db);
  await until("done", async () => (await row()) === undefined);
  await b.end("SIGTERM");
}
times.sort((x, y) => x - y);
console.log(
  "kill -9 -> again, s: min",
  times[0]!.toFixed(1),
  "median",
  times[6]!.toFixed(1),
  "max",
  times[11]!.toFixed(1),
);
await app.close();
process.exit(0);
