import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Actor } from "#access/actor.ts";
import { actingUserByIdOrName } from "#access/callers.ts";
import { buildApp, type Operation, operationsOf } from "#http/app.ts";
import { resources } from "#resources/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { type Answer, askAll, isRead, keptPlaces } from "./ask.ts";
import { type Cell, cellsOf, keyOf, linesOf, type Size } from "./cells.ts";
import { furtherLines, lines } from "./lines.ts";
import { type Mutation, mutations, type Weaker } from "./mutants.ts";
import { makeWorld, type World } from "./world.ts";

/** Asks every endpoint as every caller and compares with the lines; then weakens every rule and expects to notice. */
const MOST_TOLD = 5;
/** Cells that are asked first of those likely to notice a weaker rule. */
const FIRST = 2;
/** Endpoints after which there is much more of everything than before. */
const SETTLE_EVERY = 10;
/** What is expected comes from these files alone, so they know nothing of the code that is tested. */
const INDEPENDENT = ["line", "lines", "callers", "model"];

const { values } = parseArgs({
  options: { full: { type: "boolean", default: false }, only: { type: "string", default: "" } },
});
const size: Size = values.full ? "all" : "every pair";

const problems: string[] = [];
let passed = 0;
const check = (fine: boolean, problem: string) => (fine ? passed++ : problems.push(problem));

checkIndependence();
checkLines(operationsOf(resources));
const operations = operationsOf(resources).filter((operation) => keyOf(operation).includes(values.only));

// Who injects a request listens to its answer, too, beside all who do over a wire.
EventEmitter.defaultMaxListeners = 20;
const app = await testApp({ env: { FAIRLEAD_LOG_LEVEL: "silent" } });
const world = await makeWorld(app);
await runCells(app, world);
await runMutants(app, world);
await app.close();

tell(problems);
console.log(`matrix: ${passed} passed, ${problems.length} failed`);
process.exit(passed > 0 && problems.length === 0 ? 0 : 1);

/** A few problems of each endpoint: one mistake turns hundreds of cells red. */
function tell(problems: readonly string[]) {
  const byPlace = Map.groupBy(problems, (problem) => problem.split(" ", 2).join(" "));
  for (const some of byPlace.values()) {
    for (const problem of some.slice(0, MOST_TOLD)) console.log(`✖ ${problem}`);
    if (some.length > MOST_TOLD) console.log(`  … and ${some.length - MOST_TOLD} more`);
  }
}

function checkIndependence() {
  const own = INDEPENDENT.map((name) => `./${name}.ts`);
  for (const file of own) {
    const text = readFileSync(join(import.meta.dirname, file), "utf8");
    const foreign = [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]*)"/g)]
      .map((found) => found[1] ?? "")
      .filter((name) => !own.includes(name));
    check(foreign.length === 0, `test/matrix/${file} may not import ${foreign.join(", ")}`);
  }
}

function checkLines(known: readonly Operation[]) {
  for (const operation of known) check(keyOf(operation) in lines, `no line for ${keyOf(operation)}`);
  const served = new Set(known.map(keyOf));
  for (const key of Object.keys({ ...lines, ...furtherLines }))
    check(served.has(key), `the line ${key} is for no endpoint`);
}

async function runCells(app: TestApp, world: World) {
  const started = performance.now();
  const before = await world.auditRows();
  let count = 0;
  let written = 0;
  for (const [index, operation] of operations.entries()) {
    const cells = cellsIn(operation, size);
    const untouched = await keptPlaces(world, cells);
    if (index % SETTLE_EVERY === 0) await world.land.settle();
    const digest = await world.land.digestOf(untouched);
    const answers = await askAll(app.app, world, cells);
    check((await world.land.digestOf(untouched)) === digest, `${keyOf(operation)}: a refused request wrote something`);
    for (const answer of answers) check(answer.problem === undefined, told(answer));
    count += answers.length;
    written += answers.filter(({ cell, status }) => !isRead(cell.verb) && !cell.line.unaudited && status < 300).length;
  }
  const rows = (await world.auditRows()) - before;
  check(rows === written, `${written} writes were done, but the audit log has ${rows} of them`);
  console.log(`cells: ${count}, of which ${written} wrote, in ${seconds(started)}`);
}

/** Every mutation is done to many endpoints at once: they do not know of each other. */
async function runMutants(app: TestApp, world: World) {
  const started = performance.now();
  const cells = new Map(operations.map((operation) => [operation, mutableCells(operation)]));
  const somebody = await actorOf(app, world);
  let count = 0;
  let caught = 0;
  for (const mutation of mutations) {
    const mutants = operations.flatMap((operation) => {
      const known = linesOf(operation);
      // A rule that looks at nobody cannot be weaker.
      if (known.every(({ ignoresCredentials }) => ignoresCredentials)) return [];
      const weaker = mutation.weaken(operation.endpoint, known, somebody);
      return weaker ? [{ operation, weaker }] : [];
    });
    for (const some of Map.groupBy(mutants, ({ weaker }) => weaker.db).values()) {
      const noticed = await noticing(app, world, some, mutation, cells);
      for (const { operation } of some)
        check(noticed.has(operation), `no cell notices that in ${operation.name} ${mutation.name}`);
      count += some.length;
      caught += noticed.size;
    }
  }
  console.log(`mutants: ${caught} of ${count} caught, in ${seconds(started)}`);
}

/** The operations of which a cell notices that they are weaker: a few likely ones of each are asked first, then all. */
async function noticing(
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
  const app = buildApp({ ...services, db }, { weakened: Object.fromEntries(endpoints) });
  await app.ready();
  const of = (operation: Operation) => cells.get(operation) ?? [];
  const first = mutants.flatMap(({ operation }) => of(operation).filter(likely).slice(0, FIRST));
  const noticed = new Set(problemsAmong(await askAll(app, world, first, { apart: true })));
  for (const { operation } of mutants) {
    if (noticed.has(operation)) continue;
    const rest = of(operation).toSorted((a, b) => Number(likely(b)) - Number(likely(a)));
    const [found] = problemsAmong(await askAll(app, world, rest, { apart: true, untilProblem: true }));
    if (found) noticed.add(found);
  }
  await app.close();
  return noticed;
}

function problemsAmong(answers: readonly Answer[]): Operation[] {
  return answers.filter(({ problem }) => problem !== undefined).map(({ cell }) => cell.operation);
}

/** The cells that can tell a rule from a weaker one. */
function mutableCells(operation: Operation): Cell[] {
  return cellsIn(operation, "every pair").filter(
    ({ verb, form, expected }) =>
      verb === operation.endpoint.method && (form === "plain" || form === "old path") && expected !== "refused",
  );
}

function cellsIn(operation: Operation, size: Size): Cell[] {
  return linesOf(operation).flatMap((line) => cellsOf(operation, line, size));
}

/** The user as whom a weakened rule takes those who are not signed in. */
async function actorOf({ services }: TestApp, { somebody }: World): Promise<Actor> {
  const user = await actingUserByIdOrName(services.db, somebody.username);
  if (!user) throw new Error("the somebody of the matrix is gone");
  return { kind: "user by token", user, token: { id: somebody.tokenId, scopes: ["api"] } };
}

function told({ cell, problem }: Answer): string {
  const { verb, operation, form, caller, scopes, owner, broken, line, visibility, state } = cell;
  const place = line.place ? `${visibility} ${state} ${line.place.kind}` : "";
  const notes = [form === "plain" ? "" : form, owner, place, broken ? `unreadable ${broken}` : ""];
  return `${verb} ${operation.endpoint.path} as ${caller.name} with scopes [${scopes?.join(" ") ?? ""}], ${notes.filter(Boolean).join(", ")}: ${problem}`;
}

function seconds(started: number): string {
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}
