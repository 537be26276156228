import { parseArgs } from "node:util";
import { newClient } from "./client.ts";
import { startInstallation } from "./installation.ts";

/** Pushes to new projects at once, before a job has created their repositories. */
const LANES = 4;
const REF = "refs/heads/main";

const { values } = parseArgs({ options: { times: { type: "string", default: "50" } } });
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) throw new Error("--times must be a whole number from 1");

const installation = await startInstallation();
const problems: string[] = [];
const took: number[] = [];
let begun = 0;
try {
  await Promise.all(Array.from({ length: LANES }, (_, lane) => runLane(lane)));
} finally {
  await installation.close();
}
for (const problem of problems.slice(0, 20)) console.log(`✖ ${problem}`);
const sorted = took.toSorted((a, b) => a - b);
const milliseconds = (part: number) => Math.round(sorted[Math.floor((sorted.length - 1) * part)] ?? 0);
console.log(`a project created and pushed to: ${milliseconds(0.5)} ms in the middle, ${milliseconds(1)} ms at most`);
console.log(`first-push: ${took.length} passed, ${problems.length} failed`);
process.exit(problems.length === 0 && took.length === times ? 0 : 1);

async function runLane(lane: number) {
  await using client = await newClient();
  const user = await installation.createUser(`person-${lane}`);
  const [id = ""] = await client.commits(`lane ${lane}`, 1);
  while (begun < times) {
    const number = begun++;
    const from = performance.now();
    const { path_with_namespace: path } = await installation.call<{ path_with_namespace: string }>(
      "POST",
      "/projects",
      { token: user.token, body: { name: `First ${number}` } },
    );
    const { outcomes, output } = await client.push(installation.address({ id: 0, path }, user), [{ ref: REF, id }]);
    if (outcomes.get(REF) === "done") took.push(performance.now() - from);
    else problems.push(`${number}: ${output}`);
  }
}
