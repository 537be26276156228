import { fork } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { operationsOf } from "#http/app.ts";
import { resources } from "#domains/index.ts";
import { POSTGRES_VARIABLE, startTestPostgres } from "#test/support/postgres.ts";
import { findEveryPlant } from "./control.ts";
import type { WorkerTask } from "./inside.ts";
import { planted } from "./plants.ts";
import type { SocketTask } from "./socket.ts";
import { type Failure, type Outcome, sum } from "./tally.ts";

/** `npm run test:fuzz -- [--cases N] [--seed S] [--only I,J] [--operations NAMES] [--plant NAME,…] [--plants] [--workers W] [--untimed]` */
const { values: options } = parseArgs({
  options: {
    cases: { type: "string", default: "40000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    only: { type: "string" },
    operations: { type: "string", default: "" },
    plant: { type: "string" },
    /** Plants every known defect instead, and expects each to be found. */
    plants: { type: "boolean", default: false },
    workers: { type: "string", default: "2" },
    /** Does not judge how long a request takes or blocks, which a busy machine decides too. */
    untimed: { type: "boolean", default: false },
  },
});
const cases = Number(options.cases);
const seed = Number(options.seed);
const only = options.only?.split(",").map(Number);
/** A regular expression for the names of operations. */
const { operations, untimed } = options;
const plants = options.plant?.split(",") ?? [];
planted(resources, plants);
const partial = only !== undefined || plants.length > 0;
const workers = partial ? 1 : Number(options.workers);
/** Operations that cannot succeed yet, or that only the key of an integration opens, which no caller here has. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  "commits.signature",
  ...["receive", "receiveLegacy", "receiveFromPrometheus"].map((name) => `alertIngestion.${name}`),
]);
/** With this many cases a run is long enough to reach every operation, and waits for the slow clients. */
const MIN_LONG_RUN_CASES = 10_000;
/** A process reports every second that it runs; one that is silent for this long hangs. */
const TIMEOUT_MS = 60_000;
const START_TIMEOUT_MS = 600_000;

const directory = mkdtempSync(join(tmpdir(), "fairlead-fuzz-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
const postgres = process.env[POSTGRES_VARIABLE] ?? (await startTestPostgres());
const environment = { ...process.env, [POSTGRES_VARIABLE]: postgres };

const started = performance.now();
if (options.plants) {
  conclude(...(await findEveryPlant(postgres)));
} else {
  console.log(`fuzz: seed ${seed}`);
  const inside = Array.from({ length: workers }, (_, worker) => runWorker(worker));
  const sockets = partial ? [] : [runSockets()];
  report(sum(await Promise.all([...inside, ...sockets])), (performance.now() - started) / 1000);
}

function runWorker(worker: number): Promise<Outcome> {
  const slots = join(directory, `slots-${worker}`);
  const task: WorkerTask = { cases, seed, worker, workers, only, operations, plants, slots, untimed };
  return runProcess("inside.ts", task, () => {
    const bytes = existsSync(slots) ? readFileSync(slots) : Buffer.alloc(0);
    return [...new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)];
  });
}

function runSockets(): Promise<Outcome> {
  const task: SocketTask = { cases: Math.ceil(cases / 50), seed, operations, slow: cases >= MIN_LONG_RUN_CASES };
  return runProcess("socket.ts", task, () => []);
}

/** Runs a file as a process, and kills it if it hangs. */
function runProcess(file: string, argument: object, currentCases: () => number[]): Promise<Outcome> {
  const child = fork(join(import.meta.dirname, file), [JSON.stringify(argument)], { env: environment });
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  let found: Outcome | undefined;
  let done = 0;
  const lost = (cause: string) => {
    const failure: Failure = {
      cause,
      count: 1,
      index: -1,
      about: `one of the cases ${currentCases().join(", ")}`,
      request: "",
      answer: "",
    };
    resolve({ passed: done, failed: 1, busy: 0, kinds: {}, statuses: {}, operations: {}, failures: [failure] });
  };
  const silence = () => {
    lost("a process hangs");
    child.kill("SIGKILL");
  };
  let timer = setTimeout(silence, START_TIMEOUT_MS);
  child.on("message", (message: { done?: number; outcome?: Outcome }) => {
    clearTimeout(timer);
    timer = setTimeout(silence, TIMEOUT_MS);
    done = message.done ?? done;
    found = message.outcome ?? found;
  });
  child.on("exit", (code) => {
    clearTimeout(timer);
    if (found) resolve(found);
    else lost(`a process ended with ${code}`);
  });
  return promise;
}

function report(outcome: Outcome, seconds: number) {
  const { passed, failed, busy, kinds, statuses, operations: counted, failures, longest } = outcome;
  const counts = (of: Readonly<Record<string, number>>) =>
    Object.entries(of)
      .map(([name, count]) => `${name} ${count}`)
      .join(", ");
  const total = passed + failed;
  console.log(`cases: ${counts(kinds)}`);
  console.log(`statuses: ${counts(statuses)}`);
  for (const [name, [reached, succeeded]] of Object.entries(counted).toSorted(([a], [b]) => a.localeCompare(b))) {
    console.log(`  ${name}: ${reached} reached, ${succeeded} succeeded`);
  }
  console.log(`speed: ${total} cases in ${seconds.toFixed(1)} s, ${Math.round(total / busy)} a second of one core`);
  if (longest) console.log(`longest block of the event loop: ${longest.ms.toFixed(1)} ms by ${longest.request}`);
  const wanted = partial || cases < MIN_LONG_RUN_CASES ? [] : operationsOf(resources);
  const unreached = wanted.filter(
    ({ name }) => !UNREACHABLE.has(name) && new RegExp(operations).test(name) && !counted[name]?.[1],
  );
  for (const { name } of unreached)
    console.log(`FAILED ${name} never succeeded, so nothing behind its checks was tried`);
  for (const { cause, count, index, about, request, answer } of failures) {
    console.log(`FAILED ${cause}\n  ${count} times, first: ${about}`);
    const narrowed = operations === "" ? "" : ` --operations '${operations}'`;
    if (index >= 0) console.log(`  replay: npm run test:fuzz -- --seed ${seed}${narrowed} --only ${index}`);
    if (request !== "") console.log(`  request: ${request}\n  answer: ${answer}`);
  }
  console.log(`causes: ${failures.length + unreached.length}`);
  conclude(passed, failed + unreached.length);
}

function conclude(passed: number, failed: number) {
  console.log(`fuzz: ${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
