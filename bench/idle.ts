import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startServer } from "#db/server.ts";
import { type Figure, progress, table } from "./support/figures.ts";
import type { Options } from "./support/options.ts";
import { cpuOf, cpuOfServer } from "./support/proc.ts";
import { startFairlead, temporaryDirectory } from "./support/processes.ts";
import { query } from "./support/seeded.ts";

/** Longer than the minute after which PostgreSQL vacuums and analyzes what was just created, which is no idling. */
const SETTLING_SECONDS = 75;
const DAY_SECONDS = 86_400;
const MEGABYTE = 1_000_000;

interface Reading {
  readonly at: number;
  readonly commits: number;
  readonly walBytes: number;
  readonly fairleadCpu: number;
  readonly postgresCpu: number;
}

/**
 * What `serve` does while nobody asks for anything. It begins with a checkpoint, after which PostgreSQL logs whole pages:
 * less than its interval of 300 seconds shows more WAL a day than there is.
 */
export async function idle({ seconds }: Options): Promise<Figure[]> {
  using dir = temporaryDirectory();
  const dataDir = join(dir.path, "data");
  await using fairlead = await startFairlead(dir.path, { FAIRLEAD_DATA_DIR: dataDir });
  const { url } = await startServer({ dataDir: join(dataDir, "postgres") });
  const postgres = Number(readFileSync(join(dataDir, "postgres/postmaster.pid"), "utf8").split("\n", 1)[0]);
  progress(`settling for ${SETTLING_SECONDS} s, then measuring for ${seconds} s`);
  await pause(SETTLING_SECONDS * 1000);
  for (const database of [url, Object.assign(new URL(url), { pathname: "/template1" }).href]) {
    await query(database, "vacuum (freeze, analyze)");
    // Once more, since the statistics that were replaced are garbage.
    await query(database, "vacuum (freeze)");
  }
  await query(url, "checkpoint");

  const read = async (): Promise<Reading> => {
    const { rows } = await query<{ commits: number; bytes: number }>(
      url,
      `select xact_commit::float8 as commits, (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes
       from pg_stat_database where datname = current_database()`,
    );
    const { commits = Number.NaN, bytes = Number.NaN } = rows[0] ?? {};
    const cpu = { fairleadCpu: cpuOf(fairlead.pid), postgresCpu: cpuOfServer(postgres) };
    return { at: performance.now(), commits, walBytes: bytes, ...cpu };
  };
  const before = await read();
  await pause(seconds * 1000);
  const after = await read();

  const took = (after.at - before.at) / 1000;
  const rate = (what: keyof Reading) => (after[what] - before[what]) / took;
  const commits = rate("commits");
  const wal = (rate("walBytes") * DAY_SECONDS) / MEGABYTE;
  const share = (microseconds: number) => microseconds / 10_000;
  console.log(
    table(
      ["an idle serve", "figure"],
      [
        ["commits a second", commits],
        ["MB of WAL a day", wal],
        ["% of a core, Fairlead", share(rate("fairleadCpu"))],
        ["% of a core, PostgreSQL", share(rate("postgresCpu"))],
      ],
    ),
  );
  return [
    { about: "commits a second", value: commits, bound: "at most", goal: 4 },
    { about: "of WAL a day", value: wal, unit: " MB", bound: "at most", goal: 50 },
  ];
}
