import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { describeSettings } from "#config.ts";
import { openDatabase } from "#db/database.ts";
import { migrate } from "#db/migrate.ts";
import { startServer } from "#db/server.ts";
import { operationsOf } from "#http/app.ts";
import { openApiOf } from "#http/openapi.ts";
import { resources } from "#resources/index.ts";
import { readCatalogue, type Catalogue } from "./generate/catalogue.ts";
import { configurationPage } from "./generate/configuration.ts";
import { endpointsPage } from "./generate/endpoints.ts";
import { schemaSql } from "./generate/schema.ts";
import { databaseTypes } from "./generate/types.ts";

/** A file that is derived from others, committed so that a change of it is reviewed, and checked for freshness. */
interface Generator {
  readonly file: string;
  make(): string | Promise<string>;
}

const root = join(import.meta.dirname, "..");

const catalogue = once(readFreshCatalogue);

const generators: readonly Generator[] = [
  { file: "src/db/types.ts", make: async () => databaseTypes(await catalogue()) },
  { file: "docs/schema.sql", make: async () => schemaSql(await catalogue()) },
  { file: "docs/openapi.json", make: () => `${JSON.stringify(openApiOf(operationsOf(resources)), null, 2)}\n` },
  { file: "docs/endpoints.md", make: () => endpointsPage(operationsOf(resources)) },
  { file: "docs/configuration.md", make: () => configurationPage(describeSettings()) },
];

const check = process.argv.includes("--check");
const stale: string[] = [];
for (const generator of generators) {
  const { file } = generator;
  const fresh = await format(file, await generator.make());
  const written = await readFile(join(root, file), "utf8").catch(() => undefined);
  if (written === fresh) continue;
  stale.push(file);
  if (!check) await writeFile(join(root, file), fresh);
}
for (const file of stale) console.log(check ? `${file} is stale: run npm run generate` : `${file} written`);
if (check && stale.length > 0) process.exitCode = 1;

/** What the migrations make of an empty database, on an engine that is thrown away afterwards. */
async function readFreshCatalogue(): Promise<Catalogue> {
  const dataDir = join(tmpdir(), `fairlead-generate-${randomUUID()}`);
  const server = await startServer({ dataDir, settings: { fsync: "off" } });
  try {
    await migrate(server.url);
    const db = openDatabase({ url: server.url, log: pino({ level: "warn" }), pipelined: 0 });
    try {
      return await readCatalogue(db.read);
    } finally {
      await db.close();
    }
  } finally {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

/** Code as the project's formatter would write it; the formatter leaves documents alone. */
async function format(file: string, text: string): Promise<string> {
  if (!file.endsWith(".ts")) return text;
  const formatter = join(root, "node_modules/.bin/oxfmt");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = execFile(formatter, [`--stdin-filepath=${file}`], { cwd: root }, (error, stdout) =>
    error ? reject(error) : resolve(stdout),
  );
  child.stdin?.end(text);
  return promise;
}
