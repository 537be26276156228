import { parseArgs } from "node:util";
import { freshDatabase, POSTGRES_VARIABLE, startTestPostgres } from "#test/support/postgres.ts";
import { OUTPUTS } from "./outputs.ts";
import { startServer } from "./server.ts";

/** `npm run test:log-destination -- [--times N] [--requests N] [--only PART-OF-A-NAME]` */
const { values } = parseArgs({
  options: {
    times: { type: "string", default: "20" },
    requests: { type: "string", default: "10000" },
    only: { type: "string", default: "" },
  },
});
const times = Number(values.times);
const requests = Number(values.requests);
if (!(times >= 1) || !(requests >= 1)) throw new Error("--times and --requests must be whole numbers from 1");

/** Ten seconds of grace for requests, and what ending the process takes. */
const STOP_LIMIT_MS = 12_000;
/** The old destination must be seen to fail with each of these. */
const CONTROLS = ["full disk", "disk that was full for a while", "reader that went away"];
const PLANT = { NODE_OPTIONS: `--import ${new URL("planted.ts", import.meta.url).href}` };

process.env[POSTGRES_VARIABLE] ??= await startTestPostgres();
const databaseUrl = await freshDatabase();
const failures: string[] = [];
let passed = 0;
for (const name of Object.keys(OUTPUTS).filter((each) => each.includes(values.only))) {
  const stopped: number[] = [];
  for (let time = 1; time <= times; time++) {
    const { problems, stopMs } = await tryOutput(name);
    stopped.push(stopMs ?? Infinity);
    if (problems.length === 0) passed++;
    else failures.push(`${name}, time ${time}: ${problems.join("; ")}`);
  }
  console.log(`  ${name}: ${times} times ${requests} requests, stopped within ${Math.round(Math.max(...stopped))} ms`);
}
for (const name of CONTROLS.filter((each) => each.includes(values.only))) {
  const { problems } = await tryOutput(name, { isPlanted: true });
  if (problems.length > 0) passed++;
  else failures.push(`${name}: a destination that waits was not noticed`);
  console.log(`  ${name}, with a destination that waits: ${problems.join("; ") || "nothing noticed"}`);
}
for (const failure of failures.slice(0, 20)) console.log(`✖ ${failure}`);
console.log(`log-destination: ${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);

/** Serves requests with an output that something is wrong with, and stops. */
async function tryOutput(name: string, { isPlanted = false } = {}) {
  const output = await (OUTPUTS[name] as (typeof OUTPUTS)[string])();
  const problems: string[] = [];
  let stopMs: number | undefined;
  try {
    const server = await startServer(databaseUrl, output.stdout, isPlanted ? PLANT : {}, (child) =>
      output.attach(child),
    );
    try {
      output.begin?.(server);
      await server.request(requests);
      // The planted destination counts nothing, which is not what it is there to show.
      if (!isPlanted) problems.push(...((await output.end?.(server, requests)) ?? []));
    } finally {
      stopMs = await server.stop(STOP_LIMIT_MS);
      const { exitCode, signalCode } = server.child;
      if (stopMs === undefined) problems.push(`SIGTERM ended it with ${exitCode ?? signalCode}`);
    }
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  await output.close?.();
  return { problems, stopMs };
}
