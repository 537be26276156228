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
import { domains, resources } from "#domains/index.ts";
import { SUBJECTS } from "#domains/platform/reference/subjects.ts";
import { readCatalogue, type Catalogue } from "./generate/catalogue.ts";
import { configurationPage } from "./generate/configuration.ts";
import { endpointsPage } from "./generate/endpoints.ts";
import { lintConfig } from "./generate/lint.ts";
import { mergeDocuments } from "./generate/openapi.ts";
import { schemaSql } from "./generate/schema.ts";
import { databaseTypes } from "./generate/types.ts";
import { DOMAINS, LAYERS, PACKAGES } from "./layers.ts";

/** A file that is derived from others. It is committed, so that reviews see it change, and checked for freshness. */
interface Generator {
  readonly file: string;
  generate(): string | Promise<string>;
}

const root = join(import.meta.dirname, "..");

const catalogue = once(readFreshCatalogue);

const documents = Object.entries(domains).flatMap(([name, domain]) =>
  domain.resources
    ? [{ file: `docs/openapi/${name}.json`, document: openApiOf(operationsOf(domain.resources), SUBJECTS) }]
    : [],
);

const generators: readonly Generator[] = [
  { file: ".oxlintrc.json", generate: () => lintConfig({ layers: LAYERS, domains: DOMAINS, packages: PACKAGES }) },
  { file: "src/db/types.ts", generate: async () => databaseTypes(await catalogue()) },
  { file: "docs/schema.sql", generate: async () => schemaSql(await catalogue()) },
  ...documents.map(({ file, document }) => ({ file, generate: () => json(document) })),
  { file: "docs/openapi.json", generate: () => json(mergeDocuments(documents.map(({ document }) => document))) },
  { file: "docs/endpoints.md", generate: () => endpointsPage(operationsOf(resources), SUBJECTS) },
  { file: "docs/configuration.md", generate: () => configurationPage(describeSettings()) },
];

const check = process.argv.includes("--check");
const stale: string[] = [];
for (const generator of generators) {
  const { file } = generator;
  const fresh = await format(file, await generator.generate());
  const written = await readFile(join(root, file), "utf8").catch(() => undefined);
  if (written === fresh) continue;
  stale.push(file);
  if (!check) await writeFile(join(root, file), fresh);
}
for (const file of stale) console.log(check ? `${file} is stale: run npm run generate` : `${file} written`);
if (check && stale.length > 0) process.exitCode = 1;

function json(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** The schema after all migrations, read from a temporary PostgreSQL. */
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

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= read());
}

/** Code as the project's formatter would write it; the formatter leaves documents alone. */
async function format(file: string, text: string): Promise<string> {
  if (file.startsWith("docs/")) return text;
  const formatter = join(root, "node_modules/.bin/oxfmt");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = execFile(formatter, [`--stdin-filepath=${file}`], { cwd: root }, (error, stdout) =>
    error ? reject(error) : resolve(stdout),
  );
  child.stdin?.end(text);
  return promise;
}
