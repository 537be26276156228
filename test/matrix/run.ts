import { EventEmitter } from "node:events";
import { parseArgs } from "node:util";
import { buildApp, type Operation, operationsOf } from "#http/app.ts";
import { constraints, resources } from "#domains/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { chosenCells } from "#test/sweep/chosen.ts";
import { type Answer, runAll, isRead, sharedContainers } from "./requests.ts";
import { type Cell, cellsOf, keyOf, linesOf, type Size } from "./cells.ts";
import { type Mutation, ruleMutations, scopeMutations, type Weaker } from "./mutants.ts";
import { sampleOf } from "./sample.ts";
import { actorOf, makeWorld, type World } from "./world.ts";

/** Calls every endpoint as every caller and compares with the lines; then weakens every rule and expects to notice. */
const MAX_SHOWN = 5;
/** How many likely cells of each endpoint run first to notice a weaker rule. */
const FIRST_CELLS = 2;
/** After so many endpoints the statistics of PostgreSQL are updated. */
const ANALYZE_INTERVAL = 10;

const { values } = parseArgs({
  options: {
    full: { type: "boolean", default: false },
    chosen: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    "one-in": { type: "string", default: "1" },
    seed: { type: "string", default: "1" },
  },
});
const size: Size = values.full ? "all" : "every pair";
const sample = { oneIn: Number(values["one-in"]), seed: Number(values.seed) };
if (!Number.isInteger(sample.oneIn) || sample.oneIn < 1) throw new Error("--one-in must be a whole number from 1");
if (!Number.isInteger(sample.seed)) throw new Error("--seed must be a whole number");

const problems: string[] = [];
let passed = 0;
const check = (fine: boolean, problem: string) => (fine ? passed++ : problems.push(problem));

const operations = operationsOf(resources).filter((operation) => keyOf(operation).includes(values.only));

// An injected request adds a listener to each response.
EventEmitter.defaultMaxListeners = 20;
const app = await testApp({ env: { FAIRLEAD_LOG_LEVEL: "silent" } });
const world = await makeWorld(app);
const otherUser = await actorOf(app, world);
await runCells(app, world);
await runMutants(app, world);
await app.close();

report(problems);
console.log(`matrix: ${passed} passed, ${problems.length} failed`);
process.exit(passed > 0 && problems.length === 0 ? 0 : 1);

/** Prints a few problems of each endpoint: one mistake can fail hundreds of cells. */
function report(problems: readonly string[]) {
  const byPlace = Map.groupBy(problems, (problem) => problem.split(" ", 2).join(" "));
  for (const some of byPlace.values()) {
    for (const problem of some.slice(0, MAX_SHOWN)) console.log(`✖ ${problem}`);
    if (some.length > MAX_SHOWN) console.log(`  … and ${some.length - MAX_SHOWN} more`);
  }
}

function isAudited({ line: { unaudited }, caller }: Cell): boolean {
  return !unaudited || (unaudited === "by oneself" && caller.sudo !== undefined);
}

async function runCells(app: TestApp, world: World) {
  const started = performance.now();
  const before = await world.auditRows();
  let count = 0;
  let written = 0;
  for (const [index, operation] of operations.entries()) {
    const cells = sampleOf(cellsIn(operation, size), sample, index);
    const untouched = await sharedContainers(world, cells);
    if (index % ANALYZE_INTERVAL === 0) await world.tree.analyze();
    const digest = await world.tree.digestOf(untouched);
    const answers = await runAll(app.app, world, cells);
    check((await world.tree.digestOf(untouched)) === digest, `${keyOf(operation)}: a refused request wrote something`);
    for (const answer of answers) check(answer.problem === undefined, described(answer));
    count += answers.length;
    written += answers.filter(({ cell, status }) => !isRead(cell.verb) && isAudited(cell) && status < 300).length;
  }
  const rows = (await world.auditRows()) - before;
  check(rows === written, `${written} writes were done, but the audit log has ${rows} of them`);
  console.log(`cells: ${count}, of which ${written} wrote, in ${seconds(started)}`);
}

/** Applies every mutation to many endpoints at once, since endpoints are independent of each other. */
async function runMutants(app: TestApp, world: World) {
  const started = performance.now();
  const cells = new Map(operations.map((operation) => [operation, mutableCells(operation)]));
  let count = 0;
  let caught = 0;
  for (const mutation of values.chosen ? ruleMutations : [...scopeMutations, ...ruleMutations]) {
    const mutants = operations.flatMap((operation) => {
      const known = linesOf(operation);
      // A rule that ignores credentials cannot be weakened.
      if (known.every(({ ignoresCredentials }) => ignoresCredentials)) return [];
      const weaker = mutation.weaken(operation.endpoint, known, otherUser);
      return weaker ? [{ operation, weaker }] : [];
    });
    for (const some of Map.groupBy(mutants, ({ weaker }) => weaker.db).values()) {
      const noticed = await noticedOperations(app, world, some, mutation, cells);
      for (const { operation } of some)
        check(noticed.has(operation), `no cell notices that in ${operation.name} ${mutation.name}`);
      count += some.length;
      caught += noticed.size;
    }
  }
  console.log(`mutants: ${caught} of ${count} caught, in ${seconds(started)}`);
}

/** The operations whose weakening some cell notices: a few likely cells of each run first, then all. */
async function noticedOperations(
  { services }: TestApp,
  world: World,
  mutants: readonly { operation: Operation; weaker: Weaker }[],
  { likely }: Mutation,
  cells: ReadonlyMap<Operation, readonly Cell[]>,
): Promise<Set<Operation>> {
  const endpoints = mutants.map(({ operation: { name, endpoint }, weaker }) => [
    name,
    { ...endpoint, access: { ...endpoint.access, ...weaker.access } },
  ]);
  const db = mutants[0]?.weaker.db?.(services.db) ?? services.db;
  const app = buildApp({ ...services, db }, { weakened: Object.fromEntries(endpoints) }, { constraints });
  await app.ready();
  const of = (operation: Operation) => cells.get(operation) ?? [];
  const first = mutants.flatMap(({ operation }) => of(operation).filter(likely).slice(0, FIRST_CELLS));
  const noticed = new Set(problemsAmong(await runAll(app, world, first, { apart: true })));
  for (const { operation } of mutants) {
    if (noticed.has(operation)) continue;
    const rest = of(operation).toSorted((a, b) => Number(likely(b)) - Number(likely(a)));
    const [found] = problemsAmong(await runAll(app, world, rest, { apart: true, untilProblem: true }));
    if (found) noticed.add(found);
  }
  await app.close();
  return noticed;
}

function problemsAmong(answers: readonly Answer[]): Operation[] {
  return answers.filter(({ problem }) => problem !== undefined).map(({ cell }) => cell.operation);
}

/** The cells that can distinguish a rule from a weaker one. */
function mutableCells(operation: Operation): Cell[] {
  return cellsIn(operation, "every pair").filter(
    ({ verb, form, expected }) =>
      verb === operation.endpoint.method && (form === "plain" || form === "old path") && expected !== "refused",
  );
}

function cellsIn(operation: Operation, size: Size): Cell[] {
  if (values.chosen) return chosenCells(operation, operations.indexOf(operation), otherUser);
  return linesOf(operation).flatMap((line) => cellsOf(operation, line, size));
}

function described({ cell, problem }: Answer): string {
  const { verb, operation, form, caller, scopes, owner, broken, line, visibility, state } = cell;
  const container = line.container ? `${visibility} ${state} ${line.container.kind}` : "";
  const notes = [form === "plain" ? "" : form, owner, container, broken ? `unreadable ${broken}` : ""];
  return `${verb} ${operation.endpoint.path} as ${caller.name} with scopes [${scopes?.join(" ") ?? ""}], ${notes.filter(Boolean).join(", ")}: ${problem}`;
}

function seconds(started: number): string {
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}
