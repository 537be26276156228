import { parseArgs } from "node:util";
import { type Config, readConfig } from "#config.ts";
import { runSeedStep } from "#db/seed.ts";
import { ensureSealingKey } from "#lib/sealing-key.ts";
import { readSeedState } from "#domains/organization/seed-state.ts";
import { seeds } from "#domains/index.ts";
import { openLog, openServices, type Services } from "#services.ts";
import { withDatabase } from "./database.ts";
import { prepareDirectories } from "./directories.ts";
import { withProgress } from "./output.ts";
import { announce, makeFirstAdministrator } from "./setup.ts";
import type { Terminal } from "./terminal.ts";

const UNITS: Record<string, number> = { "": 1, k: 1000, m: 1_000_000 };
const MAX_ROWS = 100_000_000;

/** Fills a database with made-up users, groups, projects and tokens; the same counts give the same ones. */
export async function seed(args: string[], terminal: Terminal) {
  const { values } = parseArgs({
    args,
    options: {
      users: { type: "string", default: "1000" },
      projects: { type: "string", default: "2000" },
      tokens: { type: "string", default: "0" },
      "into-existing": { type: "boolean", default: false },
    },
  });
  const size = {
    users: countOf(values.users),
    projects: countOf(values.projects),
    tokens: countOf(values.tokens),
  };
  const config = readConfig(terminal.env);
  await withDatabase(config, terminal, async (url) => {
    const services = openServices(config, url, openLog(config, "stderr"));
    try {
      await refuseUsedDatabase(services, values["into-existing"]);
      await prepareDirectories(config);
      await ensureSealingKey(config.dataDir);
      await setUp(services, config, terminal);
      const began = Date.now();
      const all = { ...size, trial: { storages: services.git.storages.map(({ name }) => name) } };
      for (const step of seeds)
        await withProgress(`Making ${step.name}`, (tell) => runSeedStep(url, step, all, tell), terminal.printAside);
      const made = `${size.users} users, ${size.projects} projects and ${size.tokens} tokens`;
      terminal.print(`Made ${made} in ${Math.round((Date.now() - began) / 1000)} s.`);
    } finally {
      await services.close();
    }
  });
}

/** What is made up cannot be told from what people made, nor removed again. */
async function refuseUsedDatabase({ db }: Services, intoExisting: boolean) {
  const { seeded, used } = await readSeedState(db.read);
  if (seeded) throw new Error("This database was seeded before, perhaps in part; use another one for another seed");
  if (used === undefined || intoExisting) return;
  throw new Error(
    `This database has ${used} of its own. Set FAIRLEAD_DATA_DIR or FAIRLEAD_DATABASE_URL to an empty one, ` +
      "or add --into-existing: what there is then gets made-up projects and members, which nothing removes again",
  );
}

/** An installation without an administrator could not be used. */
async function setUp(services: Services, config: Config, { print }: Terminal) {
  const made = await makeFirstAdministrator(services);
  const address = config.externalUrl ?? `http://${config.host}:${config.port}`;
  if (made) announce(made, address, config.databaseUrl === undefined, print);
}

function countOf(text: string): number {
  const [, digits, unit = ""] = /^(\d+)([km]?)$/i.exec(text) ?? [];
  const count = Number(digits) * (UNITS[unit.toLowerCase()] ?? 1);
  if (!(count >= 0 && count <= MAX_ROWS)) {
    throw new Error("usage: fairlead seed --users N --projects N --tokens N, such as 0, 1000, 50k or 1m");
  }
  return count;
}
