import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type Judge, judgesOf, PLANTS } from "./judges.ts";
import { randomFrom } from "./random.ts";

/**
 * Feeds damaged input to the parsers that unauthenticated clients reach: each input is parsed or refused, and nothing
 * else happens. One thread parses and another watches it, since a parser that hangs cannot report it.
 */
const MAX_CASE_MS = 5_000;
/** Above the variation of compiled code and pools, below a leak of a hundred bytes a case. */
const MAX_MEGABYTES = 64;
/** Cases before memory is first measured: by then all code is compiled. */
const WARM_UP_CASES = 5_000;
const CONTROL_CASES = 4_000;
const MAX_SHOWN = 20;
const POLL_INTERVAL_MS = 250;

interface Task {
  readonly cases: number;
  readonly seed: number;
  readonly plant?: string;
  /** The number of the current case. */
  readonly at: Int32Array;
}

interface Findings {
  readonly problems: readonly string[];
  /** The growth of memory. */
  readonly megabytes: number;
}

if (isMainThread) await watch();
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a window has a target origin, a thread has none
else parentPort?.postMessage(await runAll(workerData as Task));

async function watch() {
  const { values } = parseArgs({
    options: { cases: { type: "string", default: "50000" }, seed: { type: "string", default: "1" } },
  });
  const [cases, seed] = [values.cases, values.seed].map(Number) as [number, number];
  if (!Number.isInteger(cases) || cases < 1) throw new Error("--cases must be a whole number from 1");
  const from = performance.now();
  const { problems, megabytes } = await inThread({ cases, seed });
  const seconds = (performance.now() - from) / 1000;
  let failed = problems.length;
  for (const problem of problems.slice(0, MAX_SHOWN)) console.log(`✖ ${problem}`);
  if (megabytes > MAX_MEGABYTES) {
    console.log(`✖ memory has grown by ${megabytes} MB`);
    failed++;
  }
  let passed = Math.max(cases - problems.length, 0);
  for (const [plant, { sees }] of Object.entries(PLANTS)) {
    const problems = (await inThread({ cases: CONTROL_CASES, seed, plant })).problems;
    const found = problems.find((problem) => sees.test(problem));
    console.log(found === undefined ? `✖ not seen: ${plant}` : `✔ seen: ${plant} (${found.slice(0, 120)})`);
    if (found === undefined) failed++;
    else passed++;
  }
  const rate = Math.round(cases / seconds).toLocaleString("en");
  console.log(`seed ${seed}: ${rate} cases a second, memory grown by ${megabytes} MB`);
  console.log(`git-fuzz: ${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

/** Runs all cases in a thread, which is terminated if a case hangs. */
async function inThread(task: Omit<Task, "at">): Promise<Findings> {
  const at = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL(import.meta.url), { workerData: { ...task, at } satisfies Task });
  let [last, since] = [-1, performance.now()];
  const { promise, resolve } = Promise.withResolvers<Findings>();
  const watching = setInterval(() => {
    const now = Atomics.load(at, 0);
    if (now !== last) [last, since] = [now, performance.now()];
    else if (performance.now() - since > MAX_CASE_MS) resolve({ problems: [`case ${now} hangs`], megabytes: 0 });
  }, POLL_INTERVAL_MS);
  worker.once("message", resolve);
  worker.once("error", (error) => resolve({ problems: [`the thread died: ${String(error)}`], megabytes: 0 }));
  const found = await promise;
  clearInterval(watching);
  await worker.terminate();
  return found;
}

async function runAll({ cases, seed, plant, at }: Task): Promise<Findings> {
  const judges = judgesOf(plant);
  const problems: string[] = [];
  let before = 0;
  for (let number = 0; number < cases && problems.length < MAX_SHOWN; number++) {
    Atomics.store(at, 0, number);
    if (number === Math.min(WARM_UP_CASES, cases - 1)) before = megabytesUsed();
    const judge = judges[number % judges.length] as Judge;
    const problem = await tryOne(judge, seed, number);
    if (problem !== undefined) problems.push(`${judge.name}, case ${number}: ${problem}`);
  }
  return { problems, megabytes: Math.max(0, Math.round(megabytesUsed() - before)) };
}

/** A case depends on seed and number alone, so that it can be repeated. */
async function tryOne({ make, problemOf }: Judge, seed: number, number: number): Promise<string | undefined> {
  const random = randomFrom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b));
  const bytes = make(random);
  try {
    const problem = await problemOf(bytes, random);
    return problem && `${problem}: ${JSON.stringify(bytes.toString("latin1").slice(0, 300))}`;
  } catch (error) {
    return `${String(error)} at ${JSON.stringify(bytes.toString("latin1").slice(0, 300))}`;
  }
}

/** Memory after a garbage collection. */
function megabytesUsed(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}
