import { join } from "node:path";
import type { Config } from "#config.ts";
import { migrate } from "#db/migrate.ts";
import { startServer } from "#db/server.ts";
import { withProgress } from "./output.ts";

export interface RunningDatabase {
  readonly url: string;
  /** True where it is the trial engine of the data directory. */
  readonly trial: boolean;
  stop(): Promise<void>;
}

export const trialDirectory = (config: Config) => join(config.dataDir, "postgres");

/** The configured PostgreSQL, or the trial engine, started. */
export async function reachDatabase(config: Config): Promise<RunningDatabase> {
  if (config.databaseUrl !== undefined) {
    return { url: config.databaseUrl, trial: false, stop: async () => {} };
  }
  const server = await withProgress("Starting PostgreSQL", () => startServer({ dataDir: trialDirectory(config) }));
  return { url: server.url, trial: true, stop: () => server.stop() };
}

/** Opens the database with every migration applied, does the work, and closes what it opened. */
export async function withDatabase<T>(config: Config, work: (url: string) => Promise<T>): Promise<T> {
  const database = await reachDatabase(config);
  try {
    await withProgress("Migrating the database", () => migrate(database.url));
    return await work(database.url);
  } finally {
    await database.stop();
  }
}
