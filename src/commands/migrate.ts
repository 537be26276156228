import { parseArgs } from "node:util";
import { type Config, readConfig } from "#config.ts";
import { type RehearsedMigration, rehearseMigrations } from "#db/dry-run.ts";
import { migrate } from "#db/migrate.ts";
import { hasTrialDatabase, reachDatabase, trialDirectory } from "./database.ts";
import { print, withProgress } from "./output.ts";

export async function migrateCommand(args: string[]) {
  const { values } = parseArgs({ args, options: { "dry-run": { type: "boolean", default: false } } });
  const config = readConfig();
  if (values["dry-run"] && config.databaseUrl === undefined && !hasTrialDatabase(config)) {
    print(`There is no database yet: this would create one in ${trialDirectory(config)} and run every migration.`);
    return;
  }
  await (values["dry-run"] ? dryRun(config) : run(config));
}

async function run(config: Config) {
  const database = await reachDatabase(config);
  try {
    const { applied } = await withProgress("Migrating the database", () => migrate(database.url));
    print(applied.length === 0 ? "The database is up to date." : `Applied ${applied.join(", ")}.`);
  } finally {
    await database.stop();
  }
}

async function dryRun(config: Config) {
  const database = await reachDatabase(config);
  try {
    const rehearsed = await withProgress("Rehearsing the migrations", () => rehearseMigrations(database.url));
    if (rehearsed.length === 0) print("The database is up to date; nothing would run.");
    else for (const migration of rehearsed) printRehearsed(migration);
    if (rehearsed.length > 1) print("A lock is listed with the first migration that takes it.");
  } finally {
    await database.stop();
  }
}

function printRehearsed(migration: RehearsedMigration) {
  if ("statement" in migration) {
    print(`${migration.name} would run outside a transaction and was not tried:\n${migration.statement}`);
    return;
  }
  const { name, ms, locks } = migration;
  print(`${name} would run; the rehearsal took ${ms} ms`);
  for (const lock of locks) print(`  ${lock}`);
  if (locks.length === 0) print("  no lock on an existing table");
}
