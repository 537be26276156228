import { parseArgs } from "node:util";
import { gitOutput } from "#test/support/git.ts";
import { run, sshTools } from "#test/support/ssh.ts";
import { until } from "#test/support/until.ts";
import { type Client, newClient } from "./client.ts";
import { beforeRefs, type Hold, inBody, overHttp, overSsh, untilBlocked } from "./held-doors.ts";
import { type Ending, endings } from "./held-endings.ts";
import { type Credential, newWorld, refsOf, type Wish } from "./held-world.ts";
import { startInstallation } from "./installation.ts";

/**
 * A push is held back before its end, by HTTP, SSH and the API, while what it was allowed by ends in each way that there
 * is. Then it goes on: it must change no ref and be told why, and one whose rights did not end must be taken.
 */
const LANES = 6;

const { values } = parseArgs({ options: { times: { type: "string", default: "3" }, only: { type: "string" } } });
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) throw new Error("--times, of each way, must be a whole number from 1");

const installation = await startInstallation({ FAIRLEAD_GIT_PROCESSES: "16" });
await installation.server().sshReady();
const tools = await sshTools();

/** Where a push is held back, and what its sender shows. */
interface Door {
  readonly name: string;
  readonly credential: Credential;
  readonly hold: Hold;
  readonly wishes: readonly Wish[];
  /** Ends only by what is about its credential; another door has the rest. */
  readonly narrow?: true;
}

const ALL: readonly Wish[] = ["new branch", "forced main", "deleted main", "forced branch"];
const doors: readonly Door[] = [
  { name: "HTTP", credential: "token", hold: overHttp, wishes: ALL },
  { name: "HTTP with sudo", credential: "sudo", hold: overHttp, wishes: ALL, narrow: true },
  { name: "SSH", credential: "key", hold: overSsh(tools), wishes: ALL },
  { name: "SSH with a deploy key", credential: "deploy key", hold: overSsh(tools), wishes: ALL },
  { name: "API, in its body", credential: "token", hold: inBody, wishes: ["new branch"] },
  { name: "API, before its refs", credential: "token", hold: beforeRefs, wishes: ["new branch", "deleted main"] },
  { name: "API with a session", credential: "session", hold: beforeRefs, wishes: ["new branch"], narrow: true },
  { name: "API with sudo", credential: "sudo", hold: beforeRefs, wishes: ["new branch"], narrow: true },
];

const isFor = ({ credential, wishes, narrow }: Door, { credentials, wish = "new branch", says }: Ending) =>
  wishes.includes(wish) &&
  (credentials === undefined ? !narrow || says === undefined : credentials.includes(credential)) &&
  !(narrow && credentials && credentials.length > 2);

const pairs = doors
  .flatMap((door) => endings.filter((ending) => isFor(door, ending)).map((ending) => ({ door, ending })))
  .filter(({ door, ending }) => `${door.name}: ${ending.name}`.includes(values.only ?? ""));

const problems: string[] = [];
let [begun, passed, moved] = [0, 0, 0];
const began = performance.now();
try {
  await Promise.all(Array.from({ length: LANES }, runLane));
  const problem = await killedWhileDeciding().catch((error: unknown) => String(error));
  if (problem === undefined) passed++;
  else problems.push(`killed while it is decided again: ${problem}`);
} finally {
  await tools.close();
  await installation.close();
}
for (const problem of problems.slice(0, 20)) console.log(`✖ ${problem}`);
const seconds = Math.round((performance.now() - began) / 1000);
console.log(
  `${pairs.length} ways by ${doors.length} doors, ${times} times each, in ${seconds} s; refs that changed: ${moved}`,
);
console.log(`held-pushes: ${passed} passed, ${problems.length} failed`);
process.exit(passed === times * pairs.length + 1 && problems.length === 0 ? 0 : 1);

async function runLane() {
  await using client = await newClient();
  while (begun < times * pairs.length) {
    const { door, ending } = pairs[begun++ % pairs.length] as (typeof pairs)[number];
    const problem = await tryOnce(door, ending, client).catch((error: unknown) => String(error));
    if (problem === undefined) passed++;
    else problems.push(`${door.name}: ${ending.name}: ${problem}`);
  }
}

async function tryOnce(door: Door, ending: Ending, client: Client): Promise<string | undefined> {
  const { wish = "new branch", level = 30, says } = ending;
  const world = await newWorld(installation, tools, client, { credential: door.credential, level });
  if (wish === "forced branch") await gitOutput(["branch", "side", "main"], { cwd: world.directory });
  const before = await refsOf(world);
  const push = await door.hold(world, wish);
  await ending.end(push.ask, world);
  const { done, said } = await push.release();
  const changed = (await refsOf(world)) !== before;
  if (says === undefined) return done && changed ? undefined : `it was still allowed, and was told ${said}`;
  if (changed) moved++;
  if (changed || done) return `a ref changed, and it was told ${said}`;
  if (!says.test(said)) return `it was not told why: ${said}`;
  await until("nothing is left of the push", async () => {
    const left = await installation.ask("select from pushes where project_id = $1", [world.project.id]);
    return left.length === 0;
  });
  return undefined;
}

/** The process dies while git waits for its answer: git must end, and change nothing. */
async function killedWhileDeciding(): Promise<string | undefined> {
  await using client = await newClient();
  const world = await newWorld(installation, tools, client, { credential: "token", level: 30 });
  const before = await refsOf(world);
  const push = await overHttp(world, "new branch");
  const connection = await installation.connect();
  await connection.query("begin");
  await connection.query("lock table personal_access_tokens");
  const told = push.release().catch(() => undefined);
  await untilBlocked(world, connection, "%personal_access_tokens%");
  await installation.kill();
  await connection.end();
  await told;
  const running = async () => (await run("ps", ["-A", "-o", "args="], {})).stdout.includes(world.directory);
  await until("git has ended", async () => !(await running()));
  return (await refsOf(world)) === before ? undefined : "a ref changed";
}
