import { parseArgs } from "node:util";
import { freshDatabase } from "#test/support/postgres.ts";
import { PLANTS, withPlant } from "./plants.ts";
import { runSession } from "./session.ts";

/**
 * Callers with different rights create, delete and read links at the same time, while items become confidential and
 * projects private: a link is there for both ends or for none, never twice, links that block form no circle, and no
 * answer has the title, the id or the count of something hidden. A plain model says what every answer must be.
 */
const { values } = parseArgs({
  options: {
    steps: { type: "string", default: "20000" },
    seed: { type: "string", default: String(Date.now() % 1e9) },
    plants: { type: "boolean", default: false },
  },
});
const [steps, seed] = [Number(values.steps), Number(values.seed)];
if (!Number.isInteger(steps) || steps < 1) throw new Error("--steps must be a whole number from 1");
if (!Number.isInteger(seed)) throw new Error("--seed must be a whole number");
console.log(`seed ${seed}`);

/** A planted defect must be noticed within so many requests. */
const MAX_STEPS_TO_NOTICE = 6000;
const [passed, failed] = values.plants ? await tryPlants() : await runAll();
console.log(`links: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function runAll(): Promise<[passed: number, failed: number]> {
  const { requests, writes, problems } = await runSession(await freshDatabase(), seed, steps);
  for (const problem of problems) console.log(`✖ ${problem}`);
  console.log(`${requests} requests, of which ${writes} wrote`);
  return [requests - problems.length, problems.length];
}

async function tryPlants(): Promise<[passed: number, failed: number]> {
  const unnoticed: string[] = [];
  for (const plant of PLANTS) {
    const url = await freshDatabase();
    const outcome = await withPlant(url, plant, () => runSession(url, seed, MAX_STEPS_TO_NOTICE));
    const isNoticed = (outcome?.problems.length ?? 0) > 0;
    if (!isNoticed) unnoticed.push(plant.name);
    const first = outcome ? outcome.problems[0]?.slice(0, 150) : "the text was never sent";
    console.log(`${isNoticed ? "noticed" : "✖ not noticed"} after ${outcome?.requests ?? 0}: ${plant.name} (${first})`);
  }
  return [PLANTS.length - unnoticed.length, unnoticed.length];
}
