import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { stripVTControlCharacters } from "node:util";
import { POSTGRES_VARIABLE, startTestPostgres } from "#test/support/postgres.ts";

/** Runs the tests in one process a core, on one PostgreSQL: all of them, or the files given. */
const root = join(import.meta.dirname, "..");
const COUNTS = ["tests", "suites", "pass", "fail", "cancelled", "skipped", "todo"];
/** For a test or a whole group of them, on a machine that has other things to do as well. */
const TIMEOUT_MS = 300_000;

interface Result {
  readonly success: boolean;
  readonly counts: ReadonlyMap<string, number>;
  readonly failures: readonly string[];
}

const started = performance.now();
const given = process.argv.slice(2);
const files = given.length > 0 ? given : globSync("{src,test}/**/*.test.ts", { cwd: root }).toSorted();
const shards = Math.min(availableParallelism(), files.length);
const environment = {
  ...process.env,
  [POSTGRES_VARIABLE]: await startTestPostgres(),
  ...(process.stdout.isTTY && { FORCE_COLOR: "1" }),
};

const results = await Promise.all(Array.from({ length: shards }, (_, index) => runShard(index + 1)));
const total = (name: string) => results.reduce((sum, { counts }) => sum + (counts.get(name) ?? 0), 0);

for (const line of results.flatMap(({ failures }) => failures)) console.log(line);
if (total("tests") === 0) console.log("✖ no test ran");
for (const name of COUNTS) console.log(`ℹ ${name} ${total(name)}`);
console.log(`ℹ duration_ms ${(performance.now() - started).toFixed(6)}`);
process.exitCode = total("tests") > 0 && results.every(({ success }) => success) ? 0 : 1;

/** Prints a test with its subtests at once, so that two processes do not mix; details of failures come at the end. */
async function runShard(shard: number): Promise<Result> {
  const child = spawn(
    process.execPath,
    [
      ...process.execArgv,
      "--test",
      "--test-isolation=none",
      `--test-shard=${shard}/${shards}`,
      "--test-force-exit",
      `--test-timeout=${TIMEOUT_MS}`,
      "--test-reporter=spec",
      ...files,
    ],
    { cwd: root, env: environment, stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = once(child, "exit");
  const counts = new Map<string, number>();
  const failures: string[] = [];
  let block: string[] = [];
  const flush = () => {
    if (block.length > 0) console.log(block.join("\n"));
    block = [];
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const plain = stripVTControlCharacters(line);
    const [, name, count] = /^ℹ (\w+) ([\d.]+)$/.exec(plain) ?? [];
    if (name && (COUNTS.includes(name) || name === "duration_ms")) counts.set(name, Number(count));
    else if (failures.length > 0 || plain === "✖ failing tests:") failures.push(line);
    else block.push(line);
    if (/^[^\s▶]/.test(plain)) flush();
  }
  flush();
  const [code, signal] = (await ended) as [number | null, string | null];
  const failed = (counts.get("fail") ?? 0) + (counts.get("cancelled") ?? 0);
  if (code !== 0 && failed === 0) {
    // A crash, or an error that came up after its test had passed.
    failures.push(`✖ a test process ended with ${signal ?? code}, though no test of it failed`);
    counts.set("tests", (counts.get("tests") ?? 0) + 1).set("fail", 1);
  }
  return { success: code === 0, counts, failures };
}
