import { parseArgs } from "node:util";
import fc from "fast-check";
import { sql } from "kysely";
import pino from "pino";
import { type Databases, openDatabase } from "#db/database.ts";
import { compare } from "./levels/compare.ts";
import { DEFECTS, withDefect } from "./levels/defects.ts";
import { anyWorld, build, makeUsers, type World } from "./levels/world.ts";
import { PATIENT_DATABASE } from "./support/limits.ts";
import { freshDatabase } from "./support/postgres.ts";

/** Random trees, memberships, shares and expiry dates: compares every result of the SQL with a plain model. */
const WORLDS_PER_ROUND = 20;
/** A planted defect must be noticed within so many pairs. */
const MAX_PAIRS_TO_NOTICE = 20_000;

/** A difference between SQL and model; any other error is one of this suite. */
class Disagreement extends Error {}

const { values } = parseArgs({
  options: { cases: { type: "string", default: "5000" }, seed: { type: "string", default: String(Date.now() % 1e9) } },
});
const cases = Number(values.cases);
const seed = Number(values.seed);
if (!Number.isInteger(cases) || cases < 1) throw new Error("--cases must be a whole number from 1");
if (!Number.isInteger(seed)) throw new Error("--seed must be a whole number");
console.log(`seed ${seed}`);

const found = await run(await freshDatabase(), cases, true);
let passed = found.agreed;
let failed = found.problem === undefined ? 0 : 1;
if (found.problem !== undefined) console.log(`✖ ${found.problem}`);
for (const defect of failed === 0 ? DEFECTS : []) {
  const url = await freshDatabase();
  const noticed = (await withDefect(url, defect, () => run(url, MAX_PAIRS_TO_NOTICE, false)))?.problem !== undefined;
  if (noticed) passed++;
  else failed++;
  console.log(`${noticed ? "noticed" : "✖ not noticed"} in ${defect.where}: ${defect.name}`);
}
console.log(`levels: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** Compares until so many pairs agree, or to the first world with a difference; `shrink` looks for a smaller one. */
async function run(url: string, wanted: number, shrink: boolean): Promise<{ agreed: number; problem?: string }> {
  const databases = openDatabase({ url, log: pino({ level: "warn" }), ...PATIENT_DATABASE });
  const tally = { agreed: 0 };
  try {
    await makeUsers(databases);
    for (let round = 0; tally.agreed < wanted; round++) {
      const property = fc.asyncProperty(anyWorld, async (world) => {
        const { pairs, wrong } = await compareIn(databases, world);
        if (wrong.length > 0) throw new Disagreement(wrong.join("\n"));
        tally.agreed += pairs;
      });
      const result = await fc.check(property, { seed: seed + round, numRuns: WORLDS_PER_ROUND, endOnFailure: !shrink });
      if (!result.failed) continue;
      if (!(result.errorInstance instanceof Disagreement)) throw result.errorInstance;
      const world = JSON.stringify(result.counterexample?.[0], null, 1);
      return { ...tally, problem: `seed ${seed + round}: ${result.errorInstance.message}\nin the world ${world}` };
    }
    return tally;
  } finally {
    await databases.close();
  }
}

/** Memberships end at midnight, so a world that was compared across it is compared again. */
async function compareIn(databases: Databases, world: World) {
  const day = await today(databases);
  await build(databases, world);
  const found = await compare(databases, world);
  if (day === (await today(databases))) return found;
  await build(databases, world);
  return compare(databases, world);
}

async function today({ write }: Databases): Promise<string | undefined> {
  const { rows } = await sql<{ day: string }>`select (now() at time zone 'UTC')::date as day`.execute(write);
  return rows[0]?.day;
}
