import { fork } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { operationsOf } from "#http/app.ts";
import { resources } from "#resources/index.ts";
import { POSTGRES_VARIABLE, startTestPostgres } from "#test/support/postgres.ts";
import type { Share } from "./inside.ts";
import { planted } from "./plants.ts";
import type { SocketShare } from "./socket.ts";
import { type Failure, type Outcome, sum } from "./tally.ts";

/** `npm run test:fuzz -- [--cases N] [--seed S] [--only I,J] [--operations NAMES] [--plant NAME,…] [--workers W]` */
const { values: options } = parseArgs({
  options: {
    cases: { type: "string", default: "20000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
    only: { type: "string" },
    operations: { type: "string", default: "" },
    plant: { type: "string" },
    workers: { type: "string", default: "2" },
  },
});
const cases = Number(options.cases);
const seed = Number(options.seed);
const only = options.only?.split(",").map(Number);
/** A regular expression that the names of operations fit. */
const { operations } = options;
const plants = options.plant?.split(",") ?? [];
planted(resources, plants);
const partial = only !== undefined || plants.length > 0;
const workers = partial ? 1 : Number(options.workers);
/** There is nothing yet that these could give. */
const HOPELESS: ReadonlySet<string> = new Set(["commits.signature"]);
/** From here on a run is long enough to reach everything, and to wait for the slow clients. */
const LONG = 10_000;
/** A process says once a second that it is there; one that has not for so long never will, once it has begun. */
const PATIENCE = 20_000;
const PATIENCE_AT_START = 120_000;

const directory = mkdtempSync(join(tmpdir(), "fairlead-fuzz-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
const environment = {
  ...process.env,
  [POSTGRES_VARIABLE]: process.env[POSTGRES_VARIABLE] ?? (await startTestPostgres()),
};

const started = performance.now();
console.log(`fuzz: seed ${seed}`);
const inside = Array.from({ length: workers }, (_, worker) => runWorker(worker));
const sockets = partial ? [] : [runSockets()];
report(sum(await Promise.all([...inside, ...sockets])), (performance.now() - started) / 1000);

function runWorker(worker: number): Promise<Outcome> {
  const slots = join(directory, `slots-${worker}`);
  const share: Share = { cases, seed, worker, workers, only, operations, plants, slots };
  return runProcess("inside.ts", share, () => {
    const bytes = existsSync(slots) ? readFileSync(slots) : Buffer.alloc(0);
    return [...new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)];
  });
}

function runSockets(): Promise<Outcome> {
  const share: SocketShare = { cases: Math.ceil(cases / 50), seed, operations, slow: cases >= LONG };
  return runProcess("socket.ts", share, () => []);
}

/** Runs a file as a process, and ends it where it falls silent. */
function runProcess(file: string, argument: object, whereabouts: () => number[]): Promise<Outcome> {
  const child = fork(join(import.meta.dirname, file), [JSON.stringify(argument)], { env: environment });
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  let found: Outcome | undefined;
  let done = 0;
  const lost = (cause: string) => {
    const failure: Failure = {
      cause,
      count: 1,
      index: -1,
      about: `one of the cases ${whereabouts().join(", ")}`,
      request: "",
      answer: "",
    };
    resolve({ passed: done, failed: 1, busy: 0, kinds: {}, statuses: {}, operations: {}, failures: [failure] });
  };
  const silence = () => {
    lost("a process hangs");
    child.kill("SIGKILL");
  };
  let timer = setTimeout(silence, PATIENCE_AT_START);
  child.on("message", (message: { done?: number; outcome?: Outcome }) => {
    clearTimeout(timer);
    timer = setTimeout(silence, PATIENCE);
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
  const wanted = partial || cases < LONG ? [] : operationsOf(resources);
  const unreached = wanted.filter(
    ({ name }) => !HOPELESS.has(name) && new RegExp(operations).test(name) && !counted[name]?.[1],
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
  console.log(`fuzz: ${passed} passed, ${failed + unreached.length} failed`);
  process.exitCode = failed + unreached.length === 0 ? 0 : 1;
}
