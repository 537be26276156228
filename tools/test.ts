import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { POSTGRES_VARIABLE, startTestPostgres } from "#test/support/postgres.ts";
import { dealer, type FileTime, recordCosts, testFiles } from "./test-files.ts";

/**
 * `npm test -- [--timed] [--record-costs] [FILE …]`: runs the tests in a few processes, on one PostgreSQL. All of them
 * but the timed ones, only the timed ones, or the files that are named.
 */
const root = join(import.meta.dirname, "..");
const COUNTS = ["tests", "suites", "pass", "fail", "cancelled", "skipped", "todo"];
/** For a test or a whole suite, on a machine that has a tenth of its time for it. */
const TIMEOUT_MS = 1_200_000;
const SLOWEST_FILES = 20;

interface Result {
  readonly success: boolean;
  readonly counts: ReadonlyMap<string, number>;
  readonly failures: readonly string[];
}

const started = performance.now();
const { values: options, positionals: named } = parseArgs({
  allowPositionals: true,
  options: {
    /** Only the tests that judge time, CPU or memory, one file after another. */
    timed: { type: "boolean", default: false },
    /** Writes what each file took to the table that files are dealt by. */
    "record-costs": { type: "boolean", default: false },
  },
});
const files = named.length > 0 ? named : testFiles(root, options.timed);
// Many tests wait for a process, a timeout or a lock, so one process more than cores keeps the cores busy.
const processes = options.timed ? 1 : Math.min(availableParallelism() + 1, files.length);
const timesDirectory = mkdtempSync(join(tmpdir(), "fairlead-file-times-"));
process.on("exit", () => rmSync(timesDirectory, { recursive: true, force: true }));
const environment = {
  ...process.env,
  [POSTGRES_VARIABLE]: await startTestPostgres(),
  ...(process.stdout.isTTY && { FORCE_COLOR: "1" }),
};

const nextFiles = dealer(root, files, processes);
const results: Result[] = [];
await Promise.all(Array.from({ length: processes }, runWaiting));
const total = (name: string) => results.reduce((sum, { counts }) => sum + (counts.get(name) ?? 0), 0);

const took = fileTimes();
console.log("slowest files, with the seconds of CPU that they and their processes took without PostgreSQL:");
for (const { file, seconds, cpu } of took.slice(0, SLOWEST_FILES))
  console.log(`${seconds.toFixed(1).padStart(7)} s ${cpu.toFixed(1).padStart(7)} s ${file}`);
console.log(`${took.reduce((sum, { cpu }) => sum + cpu, 0).toFixed(0)} s of CPU in all`);
if (options["record-costs"]) recordCosts(root, took);
for (const line of results.flatMap(({ failures }) => failures)) console.log(line);
if (total("tests") === 0) console.log("✖ no test ran");
for (const name of COUNTS) console.log(`ℹ ${name} ${total(name)}`);
console.log(`ℹ duration_ms ${(performance.now() - started).toFixed(6)}`);
process.exitCode = total("tests") > 0 && results.every(({ success }) => success) ? 0 : 1;

async function runWaiting() {
  for (let batch = nextFiles(); batch.length > 0; batch = nextFiles()) results.push(await runFiles(batch));
}

/** The seconds that each file took and those of CPU among them, slowest first. */
function fileTimes(): FileTime[] {
  const times = new Map<string, FileTime>();
  for (const name of readdirSync(timesDirectory)) {
    const text = readFileSync(join(timesDirectory, name), "utf8");
    for (const [, ms, cpuMs, path = ""] of text.matchAll(/^(\S+) (\S+) (.+)$/gm)) {
      const file = relative(root, path);
      const { seconds = 0, cpu = 0 } = times.get(file) ?? {};
      times.set(file, { file, seconds: seconds + Number(ms) / 1000, cpu: cpu + Number(cpuMs) / 1000 });
    }
  }
  return [...times.values()].toSorted((a, b) => b.seconds - a.seconds);
}

/** Prints a test with its subtests at once, so that the output of processes does not mix; failures come at the end. */
async function runFiles(batch: readonly string[]): Promise<Result> {
  const child = spawn(
    process.execPath,
    [
      ...process.execArgv,
      "--test",
      "--test-isolation=none",
      "--test-force-exit",
      `--test-timeout=${TIMEOUT_MS}`,
      ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
      ...["--test-reporter=./tools/file-times.ts", `--test-reporter-destination=${join(timesDirectory, randomUUID())}`],
      ...batch,
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
    // A crash, or an error that was thrown after its test had passed.
    failures.push(`✖ a test process ended with ${signal ?? code}, although none of its tests failed`);
    counts.set("tests", (counts.get("tests") ?? 0) + 1).set("fail", 1);
  }
  return { success: code === 0, counts, failures };
}
