import { access, constants, stat } from "node:fs/promises";
import { parseArgs } from "node:util";
import { type Config, readConfig } from "#config.ts";
import { inspectDatabase, type Inspection } from "#db/inspect.ts";
import { openGit } from "#git/storages/open.ts";
import { DEAD } from "#jobs/queues.ts";
import { readQueues } from "#jobs/state.ts";
import { sealingKeyFile } from "#lib/sealing-key.ts";
import { openLog, openServices, type Services } from "#services.ts";
import { hostKeyFiles } from "#ssh/host-keys.ts";
import { hasTrialDatabase, reachDatabase } from "./database.ts";
import { checkGit, checkRepositories } from "./doctor-repositories.ts";
import { bad, type Finding, good } from "./findings.ts";
import { problemOf } from "./problems.ts";
import { checkUser } from "./root.ts";
import type { Terminal } from "./terminal.ts";

/** Checks everything that an installation needs and says how to fix each problem. */
export async function doctor(args: string[], terminal: Terminal) {
  parseArgs({ args });
  const config = readConfig(terminal.env);
  const findings = [
    good(`Node.js ${process.versions.node}`),
    checkUser(),
    await dataDirectory(config),
    await sealingKey(config),
    ...(await hostKeys(config)),
    ...(await repositories(config)),
    ...(await database(config, terminal)),
  ];
  for (const { good: fine, warns, text } of findings)
    terminal.print(`${warns ? "WARN" : fine ? "ok  " : "BAD "} ${text}`);
  const problems = findings.filter((finding) => !finding.good).length;
  terminal.print(problems === 0 ? "No problems found." : `Problems found: ${problems}.`);
  return problems > 0 ? 1 : 0;
}

async function dataDirectory({ dataDir }: Config): Promise<Finding> {
  try {
    await access(dataDir, constants.W_OK);
    return good(`Data directory ${dataDir}`);
  } catch {
    return bad(`The data directory ${dataDir} cannot be written; 'fairlead setup' makes it, or set FAIRLEAD_DATA_DIR`);
  }
}

async function sealingKey({ dataDir }: Config): Promise<Finding> {
  const file = sealingKeyFile(dataDir);
  try {
    const { mode } = await stat(file);
    if ((mode & 0o077) !== 0) return bad(`The sealing key ${file} can be read by others; run: chmod 600 ${file}`);
    return good(`Sealing key ${file}; keep a copy with your backups, sealed secrets cannot be read without it`);
  } catch {
    return bad(`There is no sealing key at ${file}; 'fairlead setup' makes one, or restore it from a backup`);
  }
}

/** Missing host keys are created when SSH starts for the first time. */
async function hostKeys({ dataDir }: Config): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const file of hostKeyFiles(dataDir)) {
    const { mode } = (await stat(file).catch(() => undefined)) ?? { mode: 0 };
    if ((mode & 0o077) !== 0)
      findings.push(bad(`The SSH host key ${file} can be read by others; run: chmod 600 ${file}`));
    else if (mode !== 0)
      findings.push(good(`SSH host key ${file}; keep a copy with your backups, clients remember it`));
  }
  return findings;
}

async function database(config: Config, { printAside }: Terminal): Promise<Finding[]> {
  if (config.databaseUrl === undefined && !hasTrialDatabase(config))
    return [bad("There is no database yet; 'fairlead setup' creates a trial server, or set FAIRLEAD_DATABASE_URL")];
  let running;
  try {
    running = await reachDatabase(config, printAside);
    const found = await inspectDatabase(running.url);
    return [
      good(
        `PostgreSQL ${found.version}${running.trial ? ", the trial server in the data directory; set FAIRLEAD_DATABASE_URL for production" : ""}`,
      ),
      good("PostgreSQL is new enough"),
      ...migrations(found),
      ...found.shortOfPartitions.map((table) => bad(`${table} has too few partitions ahead; run: fairlead migrate`)),
      found.administrators > 0
        ? good("There is an administrator")
        : bad("There is no administrator; run: fairlead setup"),
      ...(found.pending.length === 0 ? await inside(config, running.url) : []),
    ];
  } catch (error) {
    return [bad(`The database cannot be used: ${problemOf(error)}`)];
  } finally {
    await running?.stop();
  }
}

function migrations({ pending, newer }: Inspection): Finding[] {
  if (pending.length > 0) return [bad(`Not applied: ${pending.join(", ")}; run: fairlead migrate`)];
  if (newer.length > 0)
    return [bad(`A newer version of Fairlead migrated the database (${newer.at(-1)}); start that version`)];
  return [good("Every migration is applied")];
}

/** Checks that need an up-to-date schema. */
async function inside(config: Config, url: string): Promise<Finding[]> {
  const services = openServices(config, url, openLog(config, "stderr"));
  try {
    return [await deadJobs(services), ...(await checkRepositories(services))];
  } finally {
    await services.close();
  }
}

async function deadJobs({ db }: Services): Promise<Finding> {
  const { backlog } = (await readQueues(db.read))[DEAD];
  if (backlog === 0) return good("No job is dead");
  return bad(
    `Jobs that failed for good: ${backlog}; 'fairlead jobs dead' lists them, 'fairlead jobs redrive' queues them again`,
  );
}

async function repositories(config: Config): Promise<Finding[]> {
  const git = openGit(config);
  try {
    return await checkGit({ git });
  } finally {
    await git.close();
  }
}
