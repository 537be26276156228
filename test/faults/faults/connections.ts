import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "#test/faults/cluster.ts";
import type { Fault } from "#test/faults/fault.ts";
import { acknowledgedWritesAreThere } from "#test/faults/invariants.ts";
import { newJournal } from "#test/faults/journal.ts";
import type { Proxy } from "#test/faults/proxy.ts";
import { rounds } from "#test/faults/rounds.ts";
import { underTraffic } from "#test/faults/traffic.ts";

/** Disruptions between a web process and PostgreSQL. */
const disruptions: readonly ((proxy: Proxy) => Promise<void>)[] = [
  async function cut(proxy) {
    proxy.cut();
  },
  async function reset(proxy) {
    proxy.reset();
  },
  async function delay(proxy) {
    proxy.delay(100);
    await sleep(1_000);
    proxy.delay(0);
  },
  async function silence(proxy) {
    proxy.stall();
    await sleep(1_000);
    proxy.resume();
  },
  async function silenceThenReset(proxy) {
    proxy.stall();
    await sleep(3_000);
    proxy.reset();
    proxy.resume();
  },
];

/** Connections between a web process and PostgreSQL are cut, reset, slow and silent in the middle of writes. */
export const connections: Fault = {
  name: "connections",
  run: (cluster, times) =>
    rounds(cluster, Math.max(times, disruptions.length), [cluster.webs[0]], (round) =>
      disturb(cluster, disruptions[round % disruptions.length]),
    ),
  controls: [
    {
      name: "a caller who takes a refusal for success",
      sees: /are lost/,
      async run(cluster) {
        const journal = newJournal();
        await underTraffic(
          cluster,
          [cluster.webs[0]],
          journal,
          () => disturb(cluster, disruptions[1]),
          () => "done",
        );
        return acknowledgedWritesAreThere(cluster, journal);
      },
    },
  ],
};

async function disturb({ proxy, webs: [web] }: Cluster, disruption: ((proxy: Proxy) => Promise<void>) | undefined) {
  await sleep(200 + Math.random() * 200);
  await disruption?.(proxy);
  const took = await web.ready();
  await sleep(200);
  return took;
}
