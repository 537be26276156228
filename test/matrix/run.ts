import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Actor } from "#access/actor.ts";
import { actingUserByIdOrName } from "#access/callers.ts";
import { buildApp, type Operation, operationsOf } from "#http/app.ts";
import { resources } from "#resources/index.ts";
import { type TestApp, testApp } from "#test/support/app.ts";
import { type Answer, askAll } from "./ask.ts";
import { type Cell, cellsOf, keyOf } from "./cells.ts";
import { lines } from "./lines.ts";
import { type Mutant, mutantsOf } from "./mutants.ts";
import { makeWorld, type World } from "./world.ts";

/** Asks every endpoint as every caller and compares with the lines; then weakens every rule and expects to notice. */
const MOST_TOLD = 50;
/** What is expected comes from these files alone, so they know nothing of the code that is tested. */
const INDEPENDENT = "{lines,callers,model}.ts";

const problems: string[] = [];
let passed = 0;
const check = (fine: boolean, problem: string) => (fine ? passed++ : problems.push(problem));

checkIndependence();
const operations = operationsOf(resources);
checkLines(operations);

const app = await testApp({ env: { FAIRLEAD_LOG_LEVEL: "silent" } });
const world = await makeWorld(app);
await runCells(app, world);
await runMutants(app, world);
await app.close();

for (const problem of problems.slice(0, MOST_TOLD)) console.log(`✖ ${problem}`);
if (problems.length > MOST_TOLD) console.log(`… and ${problems.length - MOST_TOLD} more`);
console.log(`matrix: ${passed} passed, ${problems.length} failed`);
process.exit(passed > 0 && problems.length === 0 ? 0 : 1);

function checkIndependence() {
  for (const file of globSync(INDEPENDENT, { cwd: import.meta.dirname })) {
    const text = readFileSync(join(import.meta.dirname, file), "utf8");
    const foreign = [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]*)"/g)]
      .map((found) => found[1] ?? "")
      .filter((name) => !/^\.\/(lines|callers|model)\.ts$/.test(name));
    check(foreign.length === 0, `test/matrix/${file} may not import ${foreign.join(", ")}`);
  }
}

function checkLines(known: readonly Operation[]) {
  for (const operation of known) check(keyOf(operation) in lines, `no line for ${keyOf(operation)}`);
  const served = new Set(known.map(keyOf));
  for (const key of Object.keys(lines)) check(served.has(key), `the line ${key} is for no endpoint`);
}

async function runCells(app: TestApp, world: World) {
  const started = performance.now();
  const cells = operations.flatMap(cellsIn);
  const before = await world.auditRows();
  const answers = await askAll(app.app, world, cells);
  for (const answer of answers) check(answer.problem === undefined, told(answer));
  const written = answers.filter(
    ({ cell, status }) => cell.verb !== "GET" && cell.verb !== "HEAD" && cell.verb !== "OPTIONS" && status < 300,
  );
  const rows = (await world.auditRows()) - before;
  check(rows === written.length, `${written.length} writes were done, but the audit log has ${rows} of them`);
  console.log(`cells: ${cells.length}, of which ${written.length} wrote, in ${seconds(started)}`);
}

async function runMutants(app: TestApp, world: World) {
  const started = performance.now();
  let caught = 0;
  let count = 0;
  for (const operation of operations) {
    const line = lines[keyOf(operation)];
    if (!line) continue;
    const cells = cellsIn(operation).filter(({ verb, form }) => verb === operation.endpoint.method && form === "plain");
    for (const mutant of mutantsOf(operation, line, await somebody(app, world))) {
      count++;
      const noticed = await isNoticed(app, world, mutant, cells);
      if (noticed) caught++;
      check(noticed, `no cell notices that ${mutant.name}`);
    }
  }
  console.log(`mutants: ${caught} of ${count} caught, in ${seconds(started)}`);
}

async function isNoticed(
  app: TestApp,
  world: World,
  { endpoint, likely }: Mutant,
  cells: readonly Cell[],
): Promise<boolean> {
  const weakened = buildApp(app.services, { weakened: { endpoint } });
  await weakened.ready();
  const sorted = [...cells.filter(likely), ...cells.filter((cell) => !likely(cell))];
  const answers = await askAll(weakened, world, sorted, true);
  await weakened.close();
  return answers.some(({ problem }) => problem !== undefined);
}

function cellsIn(operation: Operation): Cell[] {
  const line = lines[keyOf(operation)];
  return line ? cellsOf(operation, line) : [];
}

/** The user as whom a weakened rule takes those who are not signed in. */
async function somebody({ services }: TestApp, world: World): Promise<Actor> {
  const user = await actingUserByIdOrName(services.db, world.somebody.username);
  if (!user) throw new Error("the somebody of the matrix is gone");
  return { kind: "user by token", user, token: { id: world.somebody.tokenId, scopes: ["api"] } };
}

function told({ cell, problem }: Answer): string {
  const { verb, operation, form, caller, scopes, owner, broken } = cell;
  const notes = [form === "plain" ? "" : form, owner, broken ? `unreadable ${broken}` : ""].filter(Boolean).join(", ");
  return `${verb} ${operation.endpoint.path} as ${caller.name} with scopes [${scopes?.join(" ") ?? ""}], ${notes}: ${problem}`;
}

function seconds(started: number): string {
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}
