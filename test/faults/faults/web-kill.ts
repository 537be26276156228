import { setTimeout as sleep } from "node:timers/promises";
import type { Web } from "#test/faults/cluster.ts";
import type { Fault } from "#test/faults/fault.ts";
import { acknowledgedWritesAreThere } from "#test/faults/invariants.ts";
import { newJournal } from "#test/faults/journal.ts";
import { rounds } from "#test/faults/rounds.ts";
import { type StatusReader, underTraffic } from "#test/faults/traffic.ts";

/** A web process dies by `kill -9` in the middle of requests and is started again. */
export const webKill: Fault = {
  name: "web-kill",
  run: (cluster, times) =>
    rounds(cluster, times, cluster.webs, (round) => killWeb(cluster.webs[round % 2 === 0 ? 0 : 1])),
  controls: [
    {
      name: "a caller who takes a missing answer for success",
      sees: /are lost/,
      async run(cluster) {
        const journal = newJournal();
        const careless: StatusReader = (status) => (status < 300 ? "done" : "refused");
        await underTraffic(cluster, cluster.webs, journal, () => killWeb(cluster.webs[0]), careless);
        return acknowledgedWritesAreThere(cluster, journal);
      },
    },
  ],
};

export async function killWeb(web: Web): Promise<number> {
  await sleep(100 + Math.random() * 200);
  await web.kill();
  web.start();
  return web.ready();
}
