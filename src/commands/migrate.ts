import { parseArgs } from "node:util";
import { type Config, readConfig } from "#config.ts";
import { type RehearsedMigration, rehearseMigrations } from "#db/dry-run.ts";
import { migrate } from "#db/migrate.ts";
import { hasTrialDatabase, reachDatabase, trialDirectory } from "./database.ts";
import { withProgress } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export async function migrateCommand(args: string[], terminal: Terminal) {
  const { values } = parseArgs({ args, options: { "dry-run": { type: "boolean", default: false } } });
  const config = readConfig(terminal.env);
  if (values["dry-run"] && config.databaseUrl === undefined && !hasTrialDatabase(config)) {
    terminal.print(
      `There is no database yet: this would create one in ${trialDirectory(config)} and run every migration.`,
    );
    return;
  }
  await (values["dry-run"] ? dryRun(config, terminal) : run(config, terminal));
}

async function run(config: Config, { print, printAside }: Terminal) {
  const database = await reachDatabase(config, printAside);
  try {
    const { applied } = await withProgress("Migrating the database", () => migrate(database.url), printAside);
    print(applied.length === 0 ? "The database is up to date." : `Applied ${applied.join(", ")}.`);
  } finally {
    await database.stop();
  }
}

async function dryRun(config: Config, { print, printAside }: Terminal) {
  const database = await reachDatabase(config, printAside);
  try {
    const rehearsed = await withProgress(
      "Rehearsing the migrations",
      () => rehearseMigrations(database.url),
      printAside,
    );
    if (rehearsed.length === 0) print("The database is up to date; nothing would run.");
    else for (const migration of rehearsed) printRehearsed(print, migration);
    if (rehearsed.length > 1) print("A lock is listed with the first migration that takes it.");
  } finally {
    await database.stop();
  }
}

function printRehearsed(print: Terminal["print"], migration: RehearsedMigration) {
  if ("statement" in migration) {
    print(`${migration.name} would run outside a transaction and was not tried:\n${migration.statement}`);
    return;
  }
  const { name, ms, locks } = migration;
  print(`${name} would run; the rehearsal took ${ms} ms`);
  for (const lock of locks) print(`  ${lock}`);
  if (locks.length === 0) print("  no lock on an existing table");
}
