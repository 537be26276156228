import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table } from "#bench/support/figures.ts";
import { residentMegabytes } from "#bench/support/proc.ts";
import { reportSlowness, slowness } from "#test/support/machine.ts";
import { POSTGRES_VARIABLE, startTestPostgres } from "#test/support/postgres.ts";
import type { Attack } from "./attack.ts";
import { ATTACKS } from "./attacks.ts";
import { startHonestCaller } from "./honest.ts";
import { longestBlock, percentile, secondsUntilBelow, watchMemory } from "./measure.ts";
import { PLANTS } from "./plants.ts";
import { createFixture, type Fixture, instrumented } from "./fixture.ts";

/** `npm run test:exhaustion -- [--rounds N] [--only PART-OF-A-NAME] [--seconds N] [--slow] [--plants]` */
const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "1" },
    only: { type: "string", default: "" },
    seconds: { type: "string", default: "10" },
    /** Includes attacks that take over a minute. */
    slow: { type: "boolean", default: false },
    /** Switches each bound off in turn instead, and expects its attack to have an effect. */
    plants: { type: "boolean", default: false },
  },
});
const rounds = Number(options.rounds);
const attackMs = Number(options.seconds) * 1000;

const MAX_P99_MS = 500;
const MAX_CLONE_SECONDS = 10;
const MAX_RESIDENT_MB = 512;
/** The memory of git for one principal: a quarter of the heavy slots with 512 MB each. */
const MAX_GIT_MB = 1_280;
const MAX_BLOCK_MS = 100;
/** Longer than a clone may take, so that a clone blocked by the attack is noticed. */
const PLANT_SECONDS = MAX_CLONE_SECONDS + 4;
const BACK_WITHIN_MS = 60_000;
/** Memory counts as released within this margin: heaps do not shrink to the last page. */
const BACK_SLACK_MB = 64;

/** The effect of an attack on a server and its honest callers. */
interface AttackResult {
  readonly attack: string;
  readonly saw: string;
  readonly p50: number;
  readonly p99: number;
  readonly clone: number;
  readonly megabytes: number;
  readonly gitMegabytes: number;
  readonly back: number | undefined;
  readonly block: number;
  readonly blockedBy: string;
  readonly problems: readonly string[];
}

// Before anything else runs here.
reportSlowness();
process.env[POSTGRES_VARIABLE] ??= await startTestPostgres();
const progress = (text: string) => console.log(`  ${text}`);
const [passed, failed] = options.plants ? await runPlants() : await runAttacks();
console.log(`exhaustion: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function runAttacks(): Promise<[number, number]> {
  const results: AttackResult[] = [];
  await withFixture(async (fixture, blocks) => {
    for (let round = 1; round <= rounds; round++) {
      for (const attack of ATTACKS.filter(isSelected)) {
        results.push(await runAttack(fixture, attack, blocks));
      }
    }
  });
  report(results);
  const bad = results.filter(({ problems }) => problems.length > 0).length;
  return [results.length - bad, bad];
}

function isSelected({ name, seconds }: Attack): boolean {
  return name.includes(options.only) && (options.slow || options.only !== "" || seconds === undefined);
}

async function runPlants(): Promise<[number, number]> {
  let [good, bad] = [0, 0];
  await withFixture(async (fixture, blocks) => {
    for (const plant of PLANTS.filter(({ name }) => name.includes(options.only))) {
      const attack = ATTACKS.find(({ name }) => name === plant.attack);
      if (!attack) throw new Error(`there is no attack ${plant.attack}`);
      await fixture.installation.restart(instrumented(blocks, plant.name));
      const { problems } = await runAttack(fixture, { ...attack, seconds: attack.seconds ?? PLANT_SECONDS }, blocks);
      console.log(`${problems.length > 0 ? "✔" : "✖"} without ${plant.name}: ${problems.join("; ") || "no effect"}`);
      if (problems.length > 0) good++;
      else bad++;
    }
  });
  return [good, bad];
}

async function withFixture(work: (fixture: Fixture, blocks: string) => Promise<void>) {
  const blocks = join(process.env["TMPDIR"] ?? "/tmp", `fairlead-blocks-${process.pid}`);
  writeFileSync(blocks, "");
  const fixture = await createFixture(progress, blocks);
  try {
    await work(fixture, blocks);
  } finally {
    await fixture.close();
  }
}

/** Runs an attack and measures what honest callers experience. */
async function runAttack(fixture: Fixture, attack: Attack, blocks: string): Promise<AttackResult> {
  const { installation, honest, tools, directory } = fixture;
  const { pid, url, exited } = installation.server();
  let died: string | undefined;
  void exited().then(({ code, signal }) => (died = `the server ended with ${signal ?? code}`));
  const before = residentMegabytes(pid);
  const began = Date.now();
  const memory = watchMemory(pid);
  const caller = startHonestCaller({
    url,
    token: honest.token,
    clones: [installation.address(honest.project, honest), installation.sshAddress(honest.project)],
    directory,
    env: { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent", ...tools.gitEnv(tools.withKey(honest.key)) },
  });
  const { saw, problems: seen } = await attack.run(fixture, began + Math.max(attackMs, (attack.seconds ?? 0) * 1000));
  const experience = await caller.stop();
  const { server: megabytes, git: gitMegabytes } = memory.stop();
  const block = longestBlock(blocks, began);
  const back = died === undefined ? await secondsUntilBelow(pid, before + BACK_SLACK_MB, BACK_WITHIN_MS) : undefined;
  const figures = {
    p50: percentile(experience.requests, 0.5) / slowness(),
    p99: percentile(experience.requests, 0.99) / slowness(),
    clone: Math.max(...experience.clones) / slowness(),
    megabytes,
    gitMegabytes,
    back,
    block: (block?.ms ?? 0) / slowness(),
  };
  const problems = [
    ...(died === undefined ? [] : [died]),
    ...seen,
    ...new Set(experience.problems),
    ...(figures.p99 > MAX_P99_MS ? [`honest requests took ${Math.round(figures.p99)} ms at p99`] : []),
    ...(figures.clone > MAX_CLONE_SECONDS ? [`a clone took ${figures.clone.toFixed(1)} s`] : []),
    ...(megabytes > MAX_RESIDENT_MB ? [`the server held ${Math.round(megabytes)} MB`] : []),
    ...(gitMegabytes > (attack.maxGitMegabytes ?? MAX_GIT_MB) ? [`git held ${Math.round(gitMegabytes)} MB`] : []),
    ...(back === undefined ? ["its memory was not given back within a minute"] : []),
    ...(figures.block > MAX_BLOCK_MS ? [`the event loop was blocked for ${Math.round(figures.block)} ms`] : []),
  ];
  progress(`${attack.name}: ${saw}${problems.length > 0 ? ` — ${problems.join("; ")}` : ""}`);
  return { attack: attack.name, saw, ...figures, blockedBy: block?.requests.join(" ") ?? "", problems };
}

function report(results: readonly AttackResult[]) {
  const headings = ["attack", "p50 ms", "p99 ms", "clone s", "server MB", "git MB", "back s", "block ms"];
  const rows = results.map((each) => [
    each.attack,
    each.p50,
    each.p99,
    each.clone,
    each.megabytes,
    each.gitMegabytes,
    each.back ?? Infinity,
    each.block,
  ]);
  console.log(table(headings, rows));
  const longest = results.toSorted((a, b) => b.block - a.block)[0];
  if (longest) console.log(`longest block of the event loop: ${longest.block.toFixed(1)} ms at ${longest.blockedBy}`);
}
