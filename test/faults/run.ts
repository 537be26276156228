import { parseArgs } from "node:util";
import { type Cluster, startCluster } from "./cluster.ts";
import type { Control, Fault, Report } from "./fault.ts";
import { alerts } from "./faults/alerts.ts";
import { commitReset } from "./faults/commit-reset.ts";
import { connections } from "./faults/connections.ts";
import { mailKill } from "./faults/mail-kill.ts";
import { none } from "./faults/none.ts";
import { poison } from "./faults/poison.ts";
import { postgresKill } from "./faults/postgres-kill.ts";
import { rollback } from "./faults/rollback.ts";
import { webKill } from "./faults/web-kill.ts";
import { workerKill } from "./faults/worker-kill.ts";
import { workerPause } from "./faults/worker-pause.ts";

/** Causes every known fault in an installation of real processes, and checks the invariants afterwards. */
const faults: readonly Fault[] = [
  none,
  webKill,
  connections,
  commitReset,
  postgresKill,
  rollback,
  poison,
  mailKill,
  workerKill,
  workerPause,
  alerts,
];

const { values } = parseArgs({
  options: {
    times: { type: "string", default: "3" },
    messages: { type: "string", default: "100" },
    only: { type: "string" },
  },
});
const [times, messages] = [values.times, values.messages].map(Number) as [number, number];
if (!Number.isInteger(times) || times < 1) throw new Error("--times must be a whole number from 1");
if (!Number.isInteger(messages) || messages < 1) throw new Error("--messages must be a whole number from 1");
const chosen = faults.filter(({ name }) => values.only === undefined || name === values.only);
if (chosen.length === 0) throw new Error(`--only must be one of ${faults.map(({ name }) => name).join(", ")}`);

const MAX_SHOWN = 20;
let passed = 0;
let failed = 0;
const cluster = await startCluster();
try {
  for (const fault of chosen.filter(({ waits }) => !waits)) {
    await runFault(cluster, fault);
    for (const control of fault.controls) await runControl(cluster, control);
  }
  const waiting = chosen.filter(({ waits }) => waits);
  const controls = waiting.flatMap((fault) => fault.controls.map((control) => runControl(cluster, control)));
  await Promise.all([...waiting.map((fault) => runFault(cluster, fault)), ...controls]);
} finally {
  await cluster.close();
}
console.log(`faults: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function runFault(on: Cluster, { name, run }: Fault) {
  const from = performance.now();
  const { count, seen, problems } = await run(on, times, messages).catch(reportOf);
  const seconds = ((performance.now() - from) / 1000).toFixed(0);
  console.log(`${problems.length === 0 ? "✔" : "✖"} ${name}, ${count} times in ${seconds} s: ${seen}`);
  for (const problem of problems.slice(0, MAX_SHOWN)) console.log(`    ${problem}`);
  if (problems.length > MAX_SHOWN) console.log(`    and ${problems.length - MAX_SHOWN} more`);
  if (problems.length === 0) passed += count;
  failed += problems.length;
}

function reportOf(error: unknown): Report {
  const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const ended = [...cluster.processes].filter((child) => child.failed());
  const logs = ended.map((child) => `${child.name} ended by itself:\n${child.log()}`);
  return { count: 0, seen: "the harness failed", problems: [problem, ...logs] };
}

async function runControl(on: Cluster, { name, sees, run }: Control) {
  const problems = await run(on).catch((error: unknown) => reportOf(error).problems);
  const found = problems.find((problem) => sees.test(problem));
  console.log(found === undefined ? `✖ not seen: ${name}` : `✔ seen: ${name} (${found})`);
  if (found !== undefined) passed++;
  else {
    failed++;
    for (const problem of problems.slice(0, MAX_SHOWN)) console.log(`    ${problem}`);
  }
}
