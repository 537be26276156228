import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Figure, median, progress, table } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { residentMegabytes } from "./support/proc.ts";
import { type Running, startBare, startFairlead, temporaryDirectory } from "./support/processes.ts";

const IDLE_SECONDS = 3;

interface Start {
  readonly seconds: number;
  readonly megabytes: number;
}

/** The duration of a start with existing data, PostgreSQL included, and the memory of the idle process. */
export async function startup({ rounds }: Options): Promise<Figure[]> {
  using dir = temporaryDirectory();
  const settings = { FAIRLEAD_DATA_DIR: join(dir.path, "data") };
  const file = join(dir.path, "answer.json");
  writeFileSync(file, "{}");
  progress("first start, which creates the data directory");
  const first = await measure(() => startFairlead(dir.path, settings));
  const ours: Start[] = [];
  const bare: Start[] = [];
  while (ours.length < rounds) {
    progress(`round ${ours.length + 1} of ${rounds}`);
    ours.push(await measure(() => startFairlead(dir.path, settings)));
    bare.push(await measure(() => startBare(dir.path, "/", file)));
  }

  const row = (name: string, starts: readonly Start[]) => {
    const seconds = starts.map((start) => start.seconds);
    const megabytes = starts.map((start) => start.megabytes);
    return [name, median(seconds), Math.min(...seconds), Math.max(...seconds), median(megabytes)];
  };
  console.log(
    table(
      ["until the first 200", "median s", "least s", "most s", "idle MB"],
      [row("Fairlead, first start", [first]), row("Fairlead, later start", ours), row("bare Fastify", bare)],
    ),
  );
  return [
    { about: "to start", value: median(ours.map(({ seconds }) => seconds)), unit: " s", bound: "at most", goal: 2 },
    { about: "idle", value: median(ours.map(({ megabytes }) => megabytes)), unit: " MB", bound: "at most", goal: 200 },
  ];
}

async function measure(start: () => Promise<Running>): Promise<Start> {
  await using server = await start();
  await pause(IDLE_SECONDS * 1000);
  return { seconds: server.startedIn / 1000, megabytes: residentMegabytes(server.pid) };
}
