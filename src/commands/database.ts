import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "#config.ts";
import { inspectServer } from "#db/inspect.ts";
import { migrate } from "#db/migrate.ts";
import { startServer } from "#db/server.ts";
import { prepareDataDirectory } from "./directories.ts";
import { withProgress } from "./output.ts";
import { databaseProblem, problemOf } from "./problems.ts";
import type { Terminal } from "./terminal.ts";

export interface RunningDatabase {
  readonly url: string;
  /** Whether it is the trial server in the data directory. */
  readonly trial: boolean;
  stop(): Promise<void>;
}

export const OLDEST_POSTGRES = 15;

export const trialDirectory = (config: Config) => join(config.dataDir, "postgres");

/** Whether a start has already created the trial server. */
export const hasTrialDatabase = (config: Config) => existsSync(join(trialDirectory(config), "PG_VERSION"));

/** The configured PostgreSQL, which must answer, or the trial server, which is started. */
export async function reachDatabase(config: Config, say: (line: string) => void): Promise<RunningDatabase> {
  if (config.databaseUrl !== undefined) {
    await requireDatabase(config.databaseUrl);
    return { url: config.databaseUrl, trial: false, stop: async () => {} };
  }
  await prepareDataDirectory(config);
  try {
    const start = () => startServer({ dataDir: trialDirectory(config) });
    const server = await withProgress("Starting PostgreSQL", start, say);
    return { url: server.url, trial: true, stop: () => server.stop() };
  } catch (error) {
    const advice = "set FAIRLEAD_DATABASE_URL to another PostgreSQL, or FAIRLEAD_DATA_DIR to another directory";
    throw new Error(`The trial database cannot be started (${problemOf(error)}); ${advice}`, { cause: error });
  }
}

async function requireDatabase(url: string) {
  const { version, encoding } = await inspectServer(url).catch((error: unknown) => {
    throw new Error(databaseProblem(error, url), { cause: error });
  });
  if (Number.parseInt(version, 10) < OLDEST_POSTGRES)
    throw new Error(`FAIRLEAD_DATABASE_URL: this is PostgreSQL ${version}; use ${OLDEST_POSTGRES} or newer`);
  if (encoding !== "UTF8")
    throw new Error(`FAIRLEAD_DATABASE_URL: the encoding of the database is ${encoding}; create one with UTF8`);
}

/** Applies pending migrations, runs the work and closes the database. */
export async function withDatabase<T>(
  config: Config,
  { printAside }: Terminal,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const database = await reachDatabase(config, printAside);
  try {
    await withProgress("Migrating the database", () => migrate(database.url), printAside);
    return await work(database.url);
  } finally {
    await database.stop();
  }
}
