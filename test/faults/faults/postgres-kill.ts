import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "#test/faults/cluster.ts";
import type { Fault } from "#test/faults/fault.ts";
import { acknowledgedWritesAreThere } from "#test/faults/invariants.ts";
import { newJournal } from "#test/faults/journal.ts";
import { rounds } from "#test/faults/rounds.ts";
import { underTraffic } from "#test/faults/traffic.ts";

/** PostgreSQL dies by `kill -9`, the server and all its processes, in the middle of writes, and is started again. */
export const postgresKill: Fault = {
  name: "postgres-kill",
  run: (cluster, times) => rounds(cluster, Math.min(times, MOST), cluster.webs, () => killPostgres(cluster)),
  controls: [
    {
      name: "commits that do not wait for the log",
      sees: /are lost/,
      async run(cluster) {
        const journal = newJournal();
        await waitForLog(cluster, "off");
        await holdLog(cluster);
        await underTraffic(cluster, cluster.webs, journal, () => killPostgres(cluster));
        await waitForLog(cluster, "on");
        return acknowledgedWritesAreThere(cluster, journal);
      },
    },
  ],
};

const MOST = 20;

/** From the moment that PostgreSQL takes connections again the web processes have to find it. */
async function killPostgres({ engine, webs }: Cluster): Promise<number> {
  await sleep(500 + Math.random() * 1000);
  await engine.kill();
  await engine.start();
  const ready = await Promise.all(webs.map((web) => web.ready()));
  await sleep(200);
  return Math.max(...ready);
}

async function waitForLog({ engine }: Cluster, value: "on" | "off") {
  await engine.ask(`alter system set synchronous_commit = ${value}`);
  await engine.ask("select pg_reload_conf()");
}

/** The process that would write the log soon after all, and so make a loss a matter of luck, stands still. */
async function holdLog({ engine }: Cluster) {
  const found = await engine.ask<{ pid: number }>("select pid from pg_stat_activity where backend_type = 'walwriter'");
  for (const { pid } of found) process.kill(pid, "SIGSTOP");
}
