import { parseArgs } from "node:util";
import { gitOutput } from "#test/support/git.ts";
import { run, sshTools } from "#test/support/ssh.ts";
import { until } from "#test/support/until.ts";
import { type Client, newClient } from "./client.ts";
import { beforeRefs, type Hold, inBody, overHttp, overSsh, untilBlocked } from "./held-transports.ts";
import { type Revocation, revocations } from "./held-revocations.ts";
import { type Credential, createFixture, refsOf, type RefUpdate } from "./held-fixture.ts";
import { startInstallation } from "./installation.ts";

/**
 * Holds pushes over HTTP, SSH and the API back before their end and revokes their permission in every way. Then the push
 * continues: it must change no ref and show the reason; a push that is still allowed must succeed.
 */
const LANES = 6;

const { values } = parseArgs({ options: { times: { type: "string", default: "3" }, only: { type: "string" } } });
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) throw new Error("--times must be a whole number from 1");

const installation = await startInstallation({ FAIRLEAD_GIT_PROCESSES: "16" });
await installation.server().sshReady();
const tools = await sshTools();

/** Where a push is held back, and its credential. */
interface Transport {
  readonly name: string;
  readonly credential: Credential;
  readonly hold: Hold;
  readonly updates: readonly RefUpdate[];
  /** Whether it is held back before its intent is created. */
  readonly withoutIntent?: true;
  /** Only for revocations of its credential; another transport covers the rest. */
  readonly narrow?: true;
}

const ALL: readonly RefUpdate[] = ["new branch", "forced main", "deleted main", "forced branch"];
const transports: readonly Transport[] = [
  { name: "HTTP", credential: "token", hold: overHttp, updates: ALL },
  { name: "HTTP with sudo", credential: "sudo", hold: overHttp, updates: ALL, narrow: true },
  { name: "SSH", credential: "key", hold: overSsh(tools), updates: ALL },
  { name: "SSH with a deploy key", credential: "deploy key", hold: overSsh(tools), updates: ALL },
  { name: "API, in its body", credential: "token", hold: inBody, updates: ["new branch"], withoutIntent: true },
  { name: "API, before its refs", credential: "token", hold: beforeRefs, updates: ["new branch", "deleted main"] },
  { name: "API with a session", credential: "session", hold: beforeRefs, updates: ["new branch"], narrow: true },
  { name: "API with sudo", credential: "sudo", hold: beforeRefs, updates: ["new branch"], narrow: true },
];

const isFor = ({ credential, updates, narrow }: Transport, { credentials, update = "new branch", says }: Revocation) =>
  updates.includes(update) &&
  (credentials === undefined ? !narrow || says === undefined : credentials.includes(credential)) &&
  !(narrow && credentials && credentials.length > 2);

const pairs = transports
  .flatMap((transport) =>
    revocations.filter((revocation) => isFor(transport, revocation)).map((revocation) => ({ transport, revocation })),
  )
  .filter(({ transport, revocation }) => `${transport.name}: ${revocation.name}`.includes(values.only ?? ""));

const problems: string[] = [];
let [begun, passed, moved] = [0, 0, 0];
const began = performance.now();
try {
  await Promise.all(Array.from({ length: LANES }, runLane));
  const problem = await killedWhileReauthorizing().catch((error: unknown) => String(error));
  if (problem === undefined) passed++;
  else problems.push(`killed while reauthorizing: ${problem}`);
} finally {
  await tools.close();
  await installation.close();
}
for (const problem of problems.slice(0, 20)) console.log(`✖ ${problem}`);
const seconds = Math.round((performance.now() - began) / 1000);
console.log(
  `${pairs.length} revocations by ${transports.length} transports, ${times} times each, in ${seconds} s; refs that changed: ${moved}`,
);
console.log(`held-pushes: ${passed} passed, ${problems.length} failed`);
process.exit(passed === times * pairs.length + 1 && problems.length === 0 ? 0 : 1);

async function runLane() {
  await using client = await newClient();
  while (begun < times * pairs.length) {
    const { transport, revocation } = pairs[begun++ % pairs.length] as (typeof pairs)[number];
    const problem = await tryOnce(transport, revocation, client).catch((error: unknown) => String(error));
    if (problem === undefined) passed++;
    else problems.push(`${transport.name}: ${revocation.name}: ${problem}`);
  }
}

async function tryOnce(transport: Transport, revocation: Revocation, client: Client): Promise<string | undefined> {
  const { update = "new branch", level = 30 } = revocation;
  const says = (transport.withoutIntent && revocation.saysWithoutIntent) ?? revocation.says;
  const fixture = await createFixture(installation, tools, client, { credential: transport.credential, level });
  if (update === "forced branch") await gitOutput(["branch", "side", "main"], { cwd: fixture.directory });
  const before = await refsOf(fixture);
  const push = await transport.hold(fixture, update);
  await revocation.end(push.query, fixture);
  const { done, output } = await push.release();
  const changed = (await refsOf(fixture)) !== before;
  if (says === undefined) return done && changed ? undefined : `it was still allowed, and got ${output}`;
  if (changed) moved++;
  if (changed || done) return `a ref changed, and it got ${output}`;
  if (!says.test(output)) return `it did not get the reason: ${output}`;
  await until("the intent is gone", async () => {
    const left = await installation.query("select from pushes where project_id = $1", [fixture.project.id]);
    return left.length === 0;
  });
  return undefined;
}

/** The process dies while git waits for its confirmation: git must end and change nothing. */
async function killedWhileReauthorizing(): Promise<string | undefined> {
  await using client = await newClient();
  const fixture = await createFixture(installation, tools, client, { credential: "token", level: 30 });
  const before = await refsOf(fixture);
  const push = await overHttp(fixture, "new branch");
  const connection = await installation.connect();
  await connection.query("begin");
  await connection.query("lock table personal_access_tokens");
  const released = push.release().catch(() => undefined);
  await untilBlocked(fixture, connection, "%personal_access_tokens%");
  await installation.kill();
  await connection.end();
  await released;
  const running = async () => (await run("ps", ["-A", "-o", "args="], {})).stdout.includes(fixture.directory);
  await until("git has ended", async () => !(await running()));
  return (await refsOf(fixture)) === before ? undefined : "a ref changed";
}
