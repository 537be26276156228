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
  run: (cluster, times) => rounds(cluster, Math.min(times, MAX_KILLS), cluster.webs, () => killPostgres(cluster)),
  controls: [
    {
      name: "commits that do not wait for the WAL",
      sees: /are lost/,
      async run(cluster) {
        const journal = newJournal();
        await loseUnsyncedCommits(cluster, () =>
          underTraffic(cluster, cluster.webs, journal, () => killPostgres(cluster)),
        );
        return acknowledgedWritesAreThere(cluster, journal);
      },
    },
  ],
};

const MAX_KILLS = 20;

/** Returns the time from the restart of PostgreSQL until the web processes are ready. */
export async function killPostgres({ engine, webs }: Cluster): Promise<number> {
  await sleep(500 + Math.random() * 1000);
  await engine.kill();
  await engine.start();
  const ready = await Promise.all(webs.map((web) => web.ready()));
  await sleep(200);
  return Math.max(...ready);
}

/** Does something, at whose end PostgreSQL must be killed, while commits do not wait for the WAL. */
export async function loseUnsyncedCommits(cluster: Cluster, work: () => Promise<unknown>) {
  await setSynchronousCommit(cluster, "off");
  await pauseWalWriter(cluster);
  await work();
  await setSynchronousCommit(cluster, "on");
}

async function setSynchronousCommit({ engine }: Cluster, value: "on" | "off") {
  await engine.query(`alter system set synchronous_commit = ${value}`);
  await engine.query("select pg_reload_conf()");
}

/** Pauses the WAL writer, so that unsynced commits are surely lost. */
async function pauseWalWriter({ engine }: Cluster) {
  const found = await engine.query<{ pid: number }>(
    "select pid from pg_stat_activity where backend_type = 'walwriter'",
  );
  for (const { pid } of found) process.kill(pid, "SIGSTOP");
}
