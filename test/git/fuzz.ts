import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type Judge, judgesOf, PLANTS } from "./judges.ts";
import { randomFrom } from "./random.ts";

/**
 * What git and people send before anybody knows them, damaged in every way: each is read or refused, and nothing else
 * happens. One thread reads and the other watches it, as a reader that hangs cannot say so itself.
 */
const LONGEST = 5_000;
/** What compiling and pools take at one time and not at another is less; a leak of a hundred bytes a case is more. */
const MOST_MEGABYTES = 64;
/** Cases before memory is looked at first: by then all is loaded and compiled. */
const WARM = 5_000;
const CONTROL_CASES = 4_000;
const MOST_SHOWN = 20;
const LOOKED_EVERY = 250;

interface Share {
  readonly cases: number;
  readonly seed: number;
  readonly plant?: string;
  /** The number of the case that is read. */
  readonly at: Int32Array;
}

interface Found {
  readonly problems: readonly string[];
  /** By which memory has grown. */
  readonly megabytes: number;
}

if (isMainThread) await watch();
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is a window's, and this is a thread's
else parentPort?.postMessage(await readAll(workerData as Share));

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
  for (const problem of problems.slice(0, MOST_SHOWN)) console.log(`✖ ${problem}`);
  if (megabytes > MOST_MEGABYTES) {
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

/** Reads all cases in a thread of its own; one that stands still at a case is ended there. */
async function inThread(share: Omit<Share, "at">): Promise<Found> {
  const at = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL(import.meta.url), { workerData: { ...share, at } satisfies Share });
  let [last, since] = [-1, performance.now()];
  const { promise, resolve } = Promise.withResolvers<Found>();
  const watching = setInterval(() => {
    const now = Atomics.load(at, 0);
    if (now !== last) [last, since] = [now, performance.now()];
    else if (performance.now() - since > LONGEST) resolve({ problems: [`case ${now} hangs`], megabytes: 0 });
  }, LOOKED_EVERY);
  worker.once("message", resolve);
  worker.once("error", (error) => resolve({ problems: [`the reader died: ${String(error)}`], megabytes: 0 }));
  const found = await promise;
  clearInterval(watching);
  await worker.terminate();
  return found;
}

async function readAll({ cases, seed, plant, at }: Share): Promise<Found> {
  const judges = judgesOf(plant);
  const problems: string[] = [];
  let before = 0;
  for (let number = 0; number < cases && problems.length < MOST_SHOWN; number++) {
    Atomics.store(at, 0, number);
    if (number === Math.min(WARM, cases - 1)) before = megabytesUsed();
    const judge = judges[number % judges.length] as Judge;
    const problem = await tryOne(judge, seed, number);
    if (problem !== undefined) problems.push(`${judge.name}, case ${number}: ${problem}`);
  }
  return { problems, megabytes: Math.max(0, Math.round(megabytesUsed() - before)) };
}

/** A case is made of its number alone, so that it can be made again. */
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

/** What is held once all is thrown away that can be. */
function megabytesUsed(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}
