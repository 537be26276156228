import { parseArgs } from "node:util";
import pg from "pg";
import { type Defect, withDefect } from "#test/levels/defects.ts";
import { freshDatabase } from "./postgres.ts";

/** What became of random requests whose answers a plain model predicts. */
export interface Outcome {
  readonly requests: number;
  readonly writes: number;
  readonly problems: readonly string[];
}

/** A defect that the campaign must notice: a text in statements is replaced by another. */
export interface Plant extends Omit<Defect, "where"> {
  /** Statements that prepare it, such as those that remove what else would prevent it. */
  readonly setup?: readonly string[];
}

interface Campaign {
  readonly name: string;
  readonly plants: readonly Plant[];
  /** Sends so many requests to an application on a database of its own. */
  run(databaseUrl: string, seed: number, steps: number): Promise<Outcome>;
}

/** A planted defect must be noticed within so many requests. */
const MAX_STEPS_TO_NOTICE = 6000;

/** Runs a campaign as the command line says, or tries with `--plants` whether it notices its defects. */
export async function runCampaign(campaign: Campaign): Promise<never> {
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
  const [passed, failed] = values.plants ? await tryPlants(campaign, seed) : await runAll(campaign, seed, steps);
  console.log(`${campaign.name}: ${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

type Count = readonly [passed: number, failed: number];

async function runAll({ run }: Campaign, seed: number, steps: number): Promise<Count> {
  const { requests, writes, problems } = await run(await freshDatabase(), seed, steps);
  for (const problem of problems) console.log(`✖ ${problem}`);
  console.log(`${requests} requests, of which ${writes} wrote`);
  return [requests - problems.length, problems.length];
}

async function tryPlants({ plants, run }: Campaign, seed: number): Promise<Count> {
  let noticed = 0;
  for (const plant of plants) {
    const url = await freshDatabase();
    const outcome = await withPlant(url, plant, () => run(url, seed, MAX_STEPS_TO_NOTICE));
    const isNoticed = (outcome?.problems.length ?? 0) > 0;
    if (isNoticed) noticed++;
    const first = outcome ? outcome.problems[0]?.slice(0, 150) : "the text was never sent";
    console.log(`${isNoticed ? "noticed" : "✖ not noticed"} after ${outcome?.requests ?? 0}: ${plant.name} (${first})`);
  }
  return [noticed, plants.length - noticed];
}

/** Runs `work` with a planted defect; undefined if the text that it replaces was never sent. */
async function withPlant<T>(url: string, { setup = [], ...plant }: Plant, work: () => Promise<T>) {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (const statement of setup) await client.query(statement);
  } finally {
    await client.end();
  }
  return withDefect(url, { ...plant, where: "statements" }, work);
}
