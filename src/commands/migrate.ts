import { readConfig } from "#config.ts";
import { migrate } from "#db/migrate.ts";
import { reachDatabase } from "./database.ts";
import { print, withProgress } from "./output.ts";

export async function migrateCommand() {
  const database = await reachDatabase(readConfig());
  try {
    const { applied } = await withProgress("Migrating the database", () => migrate(database.url));
    print(applied.length === 0 ? "The database is up to date." : `Applied ${applied.join(", ")}.`);
  } finally {
    await database.stop();
  }
}
