import { parseArgs } from "node:util";
import { delays } from "#test/faults/fault.ts";
import { newClient } from "./client.ts";
import { controls } from "./controls.ts";
import { startInstallation } from "./installation.ts";
import {
  killBeforeEvents,
  killWhilePushing,
  type Lane,
  newLane,
  problemsIn,
  pushAll,
  reconciled,
  countUnreported,
} from "./lane.ts";

/**
 * Kills the server during pushes and restarts it: acknowledged pushes must have happened, others wholly or not at all,
 * and whatever happened must be recorded once and soon.
 */
const { values } = parseArgs({
  options: {
    times: { type: "string", default: "8" },
    lanes: { type: "string", default: "4" },
    "with-git": { type: "boolean", default: false },
  },
});
const [times, lanes] = [values.times, values.lanes].map(Number) as [number, number];
for (const [name, count] of Object.entries({ times, lanes })) {
  if (!Number.isInteger(count) || count < 1) throw new Error(`--${name} must be a whole number from 1`);
}

/** Every fourth kill comes between refs and events, the others at a random time. */
const WORST_CASE_INTERVAL = 4;

const problems: string[] = [];
const recordDelays: number[] = [];
const refs = { done: 0, refused: 0, there: 0, absent: 0 };
let [begun, passed, worst, seen] = [0, 0, 0, 0];
await Promise.all(Array.from({ length: Math.min(lanes, times) }, (_, number) => runLane(number)));

for (const problem of problems.slice(0, 20)) console.log(`✖ ${problem}`);
console.log(`${passed} kills of a server with four pushes under way, ${worst} of them between refs and events`);
console.log(
  `${refs.done} refs acknowledged, ${refs.refused} refused; of those without a report ${refs.there} there, ${refs.absent} not`,
);
console.log(`everything recorded after the restart: ${delays(recordDelays)}`);
console.log(`kill: ${passed + seen} passed, ${problems.length} failed`);
process.exit(problems.length === 0 && passed === times ? 0 : 1);

async function runLane(number: number) {
  const installation = await startInstallation();
  try {
    await using client = await newClient();
    const lane = await newLane(installation, client, values["with-git"]);
    // The first push of a process takes longer than those that follow.
    await pushAll(lane, "first");
    const from = performance.now();
    await pushAll(lane, "quiet");
    const usual = performance.now() - from;
    addProblems("before any kill", await problemsIn(lane));
    while (begun < times && problems.length === 0) {
      const round = begun++;
      const found = await killAndCheck(lane, round, usual).catch((error: unknown) => [String(error)]);
      addProblems(`kill ${round + 1}`, found);
      if (found.length === 0) passed++;
    }
    addProblems("at the end", await problemsIn(lane));
    if (number === 0 && problems.length === 0) await runControls(lane);
  } finally {
    await installation.close();
  }
}

function addProblems(when: string, found: readonly string[]) {
  problems.push(...found.map((problem) => `${when}: ${problem}`));
}

async function killAndCheck(lane: Lane, round: number, usual: number): Promise<string[]> {
  // Every other round updates the refs that the previous one created.
  const label = `round-${Math.floor(round / 2)}`;
  const isWorst = round % WORST_CASE_INTERVAL === WORST_CASE_INTERVAL - 1;
  const pushed = isWorst
    ? await killBeforeEvents(lane, label)
    : await killWhilePushing(lane, label, Math.random() * usual * 1.2);
  const outcomes = pushed.flatMap((each) => each.refs).map(({ outcome }) => outcome);
  const found: string[] = [];
  if (isWorst) {
    worst++;
    if (outcomes.includes("done")) found.push("a push was acknowledged before its event was written");
  }

  await lane.installation.start();
  recordDelays.push(await reconciled(lane));
  const { there, absent } = await countUnreported(lane, pushed);
  refs.done += outcomes.filter((outcome) => outcome === "done").length;
  refs.refused += outcomes.filter((outcome) => outcome === "refused").length;
  refs.there += there;
  refs.absent += absent;
  found.push(...(await problemsIn(lane)));
  // What the killed process left behind does not block the next push.
  for (const { refs: again, output } of await pushAll(lane, label)) {
    if (again.some(({ outcome }) => outcome !== "done")) found.push(`the next push failed: ${output}`);
  }
  return found;
}

/** Runs the checks on planted breaches. */
async function runControls(lane: Lane) {
  for (const { name, sees, run } of controls) {
    const found = await run(lane).catch((error: unknown) => [String(error)]);
    const match = found.find((problem) => sees.test(problem));
    console.log(match === undefined ? `✖ not seen: ${name}` : `✔ seen: ${name} (${match})`);
    if (match === undefined) problems.push(`not seen: ${name}`, ...found);
    else seen++;
  }
}
